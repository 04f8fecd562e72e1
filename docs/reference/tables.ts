/** Tables of the reference, as Markdown. */
import type { Metric } from '../../protocol/metric.ts';
import { defaultOf, type Key, keysOf, type Node, valuesOf } from './schema.ts';

/** Keys that are worth a row for all of them together. */
const MANY = 3;

export function table(heading: string[], rows: string[][]): string {
  const kept = heading.map((_, column) => rows.some((row) => row[column] !== ''));
  const lines = [heading, heading.map(() => '---'), ...rows].map((row) => {
    const cells = row.filter((_, column) => kept[column]).map((cell) => escaped(cell).replaceAll('|', '\\|'));
    return `|${cells.join('|')}|`;
  });
  return rows.length === 0 ? '' : lines.join('\n');
}

/** @returns without what VitePress would take for HTML, except in code */
export function escaped(text: string): string {
  const parts = text.split('`').map((part, index) => (index % 2 === 0 ? part.replaceAll('<', '&lt;') : part));
  return parts.join('`');
}

export function code(text: string | number): string {
  return `\`${text}\``;
}

/** The texts of a schema's keys. A key that a page has described, and that means the same elsewhere, is not described again. */
export class Descriptions {
  readonly #seen = new Set<string>();

  /** @returns option, value, default, meaning */
  options(node: Node): string[][] {
    return this.#entries(keysOf(node)).map(({ paths, node, isRequired, text }) => [
      ...[paths, valuesOf(node), defaultOf(node) || (isRequired ? 'required' : ''), text],
    ]);
  }

  /** @returns key, meaning */
  keys(keys: Key[]): string[][] {
    return this.#entries(keys).map(({ paths, node, text }) => [paths, `${text}${shapeOf(node)}`]);
  }

  #entries(keys: Key[]): { paths: string; node: Node; isRequired: boolean; text: string }[] {
    const known = keys.filter((key) => this.#wasSeen(key));
    const again = known.length >= MANY ? known : [];
    const fresh = keys.filter((key) => !again.includes(key));
    return [
      ...fresh.flatMap((key) => {
        const { path, node, isRequired, children } = key;
        const { description } = node;
        const named = children.filter(isDescribed);
        if (description === undefined) {
          if (named.length === 0) throw new Error(`describe ${path} where it is defined: .describe('…')`);
          return this.#entries(children);
        }
        this.#seen.add(signatureOf(key));
        // Keys without a description are explained by that of their parent.
        const bare = children.filter((child) => !isDescribed(child)).flatMap(leavesOf);
        const names = bare.map((leaf) => code(leaf.path.slice(path.length).replace(/^(\.\*|\[\])?\.?/, '')));
        const paths = names.length > 0 ? `${code(path)}: ${names.join(', ')}` : code(path);
        const areKnown = named.every((child) => this.#wasSeen(child));
        const text = areKnown && named.length > 0 ? `${description}; the same keys` : description;
        return [{ paths, node, isRequired, text }, ...(areKnown ? [] : this.#entries(named))];
      }),
      ...(again.length > 0 ? [{ paths: pathsOf(again), node: {}, isRequired: false, text: 'as above' }] : []),
    ];
  }

  #wasSeen(key: Key): boolean {
    return this.#seen.has(signatureOf(key));
  }
}

function isDescribed({ node, children }: Key): boolean {
  return node.description !== undefined || children.some(isDescribed);
}

/** @returns the names of keys after the path of the object that they are in */
function pathsOf(keys: Key[]): string {
  const [at = ''] = /^.*\./.exec(keys[0]?.path ?? '') ?? [];
  const names = keys.map(({ path }) => code(path.slice(at.length))).join(', ');
  return at === '' ? names : `${code(at.slice(0, -1))}: ${names}`;
}

function leavesOf(key: Key): Key[] {
  return key.children.length === 0 ? [key] : key.children.flatMap(leavesOf);
}

function signatureOf({ path, node }: Key): string {
  return `${path.split('.').at(-1)} ${node.description}`;
}

/** Values of an enumeration, and what has a section of its own. */
function shapeOf(node: Node): string {
  const inner = node.anyOf?.find(({ $ref, enum: values }) => $ref ?? values) ?? node;
  if (inner.$ref) return ` (${valuesOf(inner)})`;
  return inner.enum ? ` (${valuesOf(inner)})` : '';
}

export function seriesTable(series: (Metric & { labels: string[] })[]): string {
  const rows = series.map(({ name, kind, unit, labels, help }) => [
    code(name),
    kind,
    unit,
    labels.map(code).join(', '),
    help,
  ]);
  return table(['series', 'kind', 'unit', 'labels', 'meaning'], rows);
}

export function section(heading: string, ...parts: string[]): string {
  return [`## ${heading}`, ...parts.filter((part) => part !== '').map(sentence)].join('\n\n');
}

/** @returns with a capital letter, unless it is a table or begins with code */
function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
