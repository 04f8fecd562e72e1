/** A scenario as a YAML document. Changes keep the author's comments, order and style. */
import { isDeepStrictEqual } from 'node:util';
import {
  type Document,
  isAlias,
  isCollection,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parse,
  parseDocument,
  Scalar,
  visit,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml';
import { formatPath, type InputProblem, type ProblemPath } from '../../../protocol/base/problems.ts';

type Owner = Record<string, unknown>;

/** YAML options that Artillery uses. */
const READING = { merge: true, logLevel: 'error' } as const;

export interface ScenarioChange {
  /** Number of the line in the author's file; undefined for an addition. */
  line: number | undefined;
  before: Owner;
  after: Owner;
}

/** Matches a list that is not indented more than its key. */
const FLUSH_LIST = /^( *)[\w"'].*:[ \t]*\n\1- /m;
/** Beginning of the comments that replace removed parts of a scenario. */
export const TO_DECIDE_COMMENT = ' To decide: ';

export class ScenarioDocument {
  readonly #document: Document.Parsed;
  readonly #lines = new LineCounter();
  readonly #text: string;

  /**
   * Parses the text of a scenario.
   * @throws Error if the text is not a single YAML document that contains a map
   */
  constructor(text: string) {
    this.#text = text;
    this.#document = parseDocument(text, { ...READING, lineCounter: this.#lines });
    const [error] = this.#document.errors;
    if (error) throw new Error(`line ${error.linePos?.[0].line}: ${error.code}`);
    if (!isMap(this.#document.contents)) throw new Error('it is not a scenario');
  }

  /**
   * Puts templates without quotes into quotes, because YAML parses them as maps.
   * @returns the changes
   */
  quoteTemplates(): ScenarioChange[] {
    const changes: ScenarioChange[] = [];
    visit(this.#document, {
      Map: (_, map) => {
        const [pair, ...others] = map.items;
        if (!map.range || others.length > 0 || !isMap(pair?.key) || this.#js(pair.value) != null) return undefined;
        const text = this.#text.slice(map.range[0], map.range[1]);
        const line = this.#lines.linePos(map.range[0]).line;
        changes.push({ line, before: {}, after: { '': text } });
        return new Scalar(text);
      },
    });
    return changes;
  }

  has(path: ProblemPath): boolean {
    return this.#nodeAt(path) !== undefined;
  }

  toString(): string {
    // A scenario in JSON stays JSON. Comments on changes are left out, because JSON has no comments.
    if (this.#text.trimStart().startsWith('{')) return `${JSON.stringify(this.#document.toJS(), null, 2)}\n`;
    const text = this.#document.toString({ lineWidth: 0, indentSeq: !FLUSH_LIST.test(this.#text) });
    const restored = withLinesOf(this.#text, text);
    return isDeepStrictEqual(parse(restored, READING), parse(text, READING)) ? restored : text;
  }

  /** Returns the value at the path; undefined if there is none. */
  valueAt(path: ProblemPath): unknown {
    return this.#nodeAt(path)?.toJS(this.#document);
  }

  /**
   * Returns the number of the path's line in the author's text. For an added path, returns the line of its closest
   * existing parent.
   */
  lineOf(path: ProblemPath): number | undefined {
    for (let length = path.length; length > 0; length--) {
      const range = this.#nodeAt(path.slice(0, length))?.range;
      if (range) return this.#lines.linePos(range[0]).line;
    }
    return undefined;
  }

  /**
   * Rewrites the part of the scenario that has the problem.
   * @returns undefined if the problem has no rewrite, or if the user must decide
   */
  rewrite({ at = [], rewrite }: InputProblem): ScenarioChange | undefined {
    const owner = this.#nodeAt(at.slice(0, -1));
    const key = String(at.at(-1));
    if (!rewrite || !isCollection(owner)) return undefined;
    const line = this.lineOf(at);
    const before = owner.toJS(this.#document) as Owner;
    const found = rewrite(before, key);
    if (!found) return undefined;
    if ('owner' in found) return { line, ...this.#replace(owner, found.owner as Owner) };
    const to = found.moveTo(at.slice(0, -1));
    const current = this.valueAt(to);
    const merged = isPlain(current) && isPlain(found.value) ? { ...found.value, ...current } : (current ?? found.value);
    // The other key already has a different value, so the decision is left to the user.
    if (!isDeepStrictEqual(merged, isPlain(merged) ? { ...merged, ...Object(found.value) } : found.value))
      return undefined;
    this.#remove(owner, key);
    this.set(to, merged);
    return { line, before: { [key]: before[key] }, after: { [formatPath(to)]: merged } };
  }

  /** Sets a value. Creates missing maps on its path. */
  set(path: ProblemPath, value: unknown, comment?: string): void {
    const name = String(path.at(-1));
    const owner = this.#mapAt(path.slice(0, -1));
    const pair = pairOf(owner, name);
    if (pair) {
      pair.value = this.#node(value);
      return;
    }
    const added = this.#pair(name, value);
    if (comment !== undefined && !owner.flow) added.key.commentBefore = comment;
    owner.add(added);
  }

  /** Renames a key without changing its position in the map. */
  rename(path: ProblemPath, to: string): void {
    const owner = this.#nodeAt(path.slice(0, -1));
    const pair = isMap(owner) ? pairOf(owner, String(path.at(-1))) : undefined;
    if (pair && isScalar(pair.key)) pair.key.value = to;
  }

  /**
   * Removes a key of a map or an item of a list. A list item that would become empty is removed, too.
   * @param comment comment to write in place of the removed part
   */
  remove(path: ProblemPath, comment?: string): void {
    const owner = this.#nodeAt(path.slice(0, -1));
    if (!isCollection(owner)) return;
    const index = Number(path.at(-1));
    if (isMap(owner) && owner.items.length === 1 && typeof path.at(-2) === 'number') {
      this.remove(path.slice(0, -1), comment);
      return;
    }
    const removed = isSeq(owner) ? (owner.items[index] as Node | undefined) : undefined;
    const lines = [...(removed?.commentBefore?.split('\n') ?? []), ...(comment === undefined ? [] : [comment])];
    this.#remove(owner, String(path.at(-1)));
    const kept = lines.filter((line) => line.startsWith(TO_DECIDE_COMMENT));
    if (kept.length === 0) return;
    const next = isSeq(owner) ? (owner.items[index] as Node | undefined) : owner;
    if (next && path.length > 1) next.commentBefore = joined(next.commentBefore, ...kept);
    else owner.comment = joined(owner.comment, ...kept);
  }

  /**
   * Adds an item to a list, in the same style as the list's other items: on one line or on several lines.
   * @param at index of the new item; undefined for the end of the list
   */
  append(path: ProblemPath, value: unknown, at?: number): void {
    const list = this.#nodeAt(path);
    if (!isSeq(list)) return;
    const flow = list.items.some((item) => isCollection(item) && item.flow === true);
    const node = this.#document.createNode(value, { flow });
    // Comments at the end of the list stay before the new item.
    if (at === undefined && list.comment) {
      node.commentBefore = list.comment;
      list.comment = null;
    }
    list.items.splice(at ?? list.items.length, 0, node);
  }

  #remove(owner: YAMLMap | YAMLSeq, key: string): void {
    if (isSeq(owner)) owner.items.splice(Number(key), 1);
    else owner.items = owner.items.filter((pair) => nameOf(pair) !== key);
  }

  /** Replaces the keys of a map. An unchanged value keeps its comments, even under a new key. */
  #replace(owner: YAMLMap | YAMLSeq, after: Owner): Pick<ScenarioChange, 'before' | 'after'> {
    if (!isMap(owner)) {
      const values = Object.values(after);
      const index = values.findIndex((value, at) => !isDeepStrictEqual(value, this.#js(owner.items[at])));
      const before = this.#js(owner.items[index]);
      owner.items[index] = this.#node(values[index]);
      return { before: { [index]: before }, after: { [index]: values[index] } };
    }
    const pairs = owner.items as Pair<Node, Node>[];
    const gone = pairs.filter((pair) => !isDeepStrictEqual(after[nameOf(pair)], this.#js(pair.value)));
    const free = [...gone];
    const added: Owner = {};
    owner.items = Object.entries(after).map(([name, value]) => {
      const kept = pairs.find((pair) => nameOf(pair) === name && !gone.includes(pair));
      if (kept) return kept;
      added[name] = value;
      const same = free.findIndex((pair) => isDeepStrictEqual(this.#js(pair.value), value));
      const [old] = free.splice(Math.max(0, same), free.length > 0 ? 1 : 0);
      const pair = this.#pair(name, value);
      if (same >= 0 && old) pair.value = old.value as Node;
      if (old) copyComments(old, pair);
      return pair;
    });
    return { before: Object.fromEntries(gone.map((pair) => [nameOf(pair), this.#js(pair.value)])), after: added };
  }

  #node(value: unknown): Node {
    const node = this.#document.createNode(value) as Node;
    // Lists of plain values are written on one line.
    visit(node, {
      Seq(_, list) {
        list.flow = list.items.every((item) => isScalar(item));
      },
    });
    return node;
  }

  #pair(name: string, value: unknown): Pair<Node, Node> {
    const pair = this.#document.createPair(name, null) as Pair<Node, Node>;
    pair.value = this.#node(value);
    return pair;
  }

  #js(node: unknown): unknown {
    return isScalar(node) || isCollection(node) || isAlias(node) ? node.toJS(this.#document) : node;
  }

  #nodeAt(path: ProblemPath): Node | undefined {
    let node: unknown = this.#document.contents;
    for (const part of path) {
      if (isMap(node)) node = pairOf(node, String(part))?.value;
      else if (isSeq(node)) node = node.items[Number(part)];
      else return undefined;
      if (isAlias(node)) node = node.resolve(this.#document);
    }
    return (node ?? undefined) as Node | undefined;
  }

  #mapAt(path: ProblemPath): YAMLMap {
    const found = this.#nodeAt(path);
    if (isMap(found)) return found;
    this.set(path, {});
    const made = this.#nodeAt(path) as YAMLMap;
    made.flow = false;
    return made;
  }
}

/** Returns the new text of the scenario, in which unchanged lines have the author's spacing. */
function withLinesOf(original: string, text: string): string {
  const keyOf = (line: string) => `${/^ */.exec(line)} ${line.replace(/\s/g, '')}`;
  const lines = Map.groupBy(original.split('\n'), keyOf);
  return text
    .split('\n')
    .map((line) => lines.get(keyOf(line))?.shift() ?? line)
    .join('\n');
}

function nameOf(pair: Pair): string {
  return String(isScalar(pair.key) ? pair.key.value : pair.key);
}

function pairOf(map: YAMLMap, name: string): Pair | undefined {
  return map.items.find((pair) => nameOf(pair) === name);
}

function isPlain(value: unknown): value is Owner {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function copyComments(from: Pair<Node, Node>, to: Pair<Node, Node>): void {
  for (const side of ['key', 'value'] as const) {
    const [old, made] = [from[side], to[side]];
    if (old?.commentBefore && made) made.commentBefore = old.commentBefore;
    if (old?.comment && made) made.comment = old.comment;
    if (old?.spaceBefore && made) made.spaceBefore = true;
  }
}

function joined(before: string | null | undefined, ...comments: string[]): string {
  return [before, ...comments].filter(Boolean).join('\n');
}
