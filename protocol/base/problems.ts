/**
 * Checks values of a script against schemas, and describes the problems with their paths in the YAML. All problems are
 * reported together.
 */
import { z } from 'zod';
import { printableLine } from './printable.ts';

const MAX_KEY_LENGTH = 100;

export interface InputProblem {
  /** Path in the YAML, such as `scenarios[0].flow[2].loop[1]`. */
  path: string;
  message: string;
  /** Whether the problem is an unknown key at the path. */
  isUnknownKey?: true;
  /** Path of the key that has the problem. */
  at?: ProblemPath;
  rewrite?: ScriptRewrite;
  /** Variable or function in a template that has no value. */
  unfilled?: string;
}

export type ProblemPath = readonly (string | number)[];
type Owner = Record<string, unknown>;

/**
 * Function that fixes a problem in the script.
 * @param owner map or list that contains the wrong key
 * @returns the replacement of the owner, or the new position of the key; undefined if only the user can decide
 */
export type ScriptRewrite = (
  owner: Owner,
  key: string,
) => { owner: Owner | unknown[] } | { moveTo(owner: ProblemPath): ProblemPath; value: unknown } | undefined;
type Issue = z.core.$ZodIssue;
/** Path of a key that a schema accepts. `*` stands for any key. */
type KeyPath = readonly string[];

/**
 * Checks and parses a value.
 * @param problems receives the problems, with their paths
 * @returns the parsed value; undefined if it is invalid
 */
export function parseWithSchema<S extends z.ZodType>(
  schema: S,
  value: unknown,
  at: ProblemPath,
  problems: InputProblem[],
): z.output<S> | undefined {
  const { data, error } = schema.safeParse(value);
  if (error) problems.push(...problemsOfZodError(error, at, schema));
  return data;
}

/** Fields of zod's schema definitions that lead to nested schemas. */
type SchemaParts = Record<'innerType' | 'element' | 'in' | 'valueType', unknown> & {
  shape?: object;
  options?: unknown[];
  items?: unknown[];
};

/** Returns the paths of all keys that the schema accepts, including nested keys. */
function keysIn(schema: z.ZodType): KeyPath[] {
  const { shape = {}, valueType, options = [], items = [], ...def } = schema.def as never as SchemaParts;
  const same = [def.innerType, def.element, def.in, ...options, ...items];
  const below = Object.entries({ ...shape, ...(valueType !== undefined && { '*': valueType }) });
  const isSchema = (part: unknown) => part instanceof z.ZodType;
  return [
    ...below.flatMap(([key, value]) => [
      [key],
      ...(isSchema(value) ? keysIn(value) : []).map((inner) => [key, ...inner]),
    ]),
    ...same.flatMap((part) => (isSchema(part) ? keysIn(part) : [])),
  ];
}

/** @param schema schema whose keys are suggested for an unknown key */
export function problemsOfZodError(error: z.ZodError, at: ProblemPath, schema?: z.ZodType): InputProblem[] {
  const known = schema ? keysIn(schema) : [];
  return error.issues
    .flatMap((issue) => issueProblems(issue, [], known))
    .map(({ path, ...problem }) => ({ path: formatPath([...at, ...path]), at: [...at, ...path], ...problem }));
}

function issueProblems(
  issue: Issue,
  at: ProblemPath,
  known: KeyPath[],
): (Omit<InputProblem, 'path'> & { path: ProblemPath })[] {
  const path = [...at, ...(issue.path as (string | number)[])];
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({
      path: [...path, key],
      ...suggestion(key, path, known),
      isUnknownKey: true,
    }));
  }
  if (issue.code === 'invalid_union') {
    // Chooses the alternative whose problems are all inside it or unknown keys. The user probably meant this
    // alternative.
    const meant = issue.errors.find((branch) => branch.every(isInside));
    if (meant && meant.length > 0) return meant.flatMap((inner) => issueProblems(inner, path, known));
    const types = issue.errors.flat().flatMap((inner) => (inner.code === 'invalid_type' ? [inner.expected] : []));
    if (issue.message === 'Invalid input') return [{ path, message: `expected ${[...new Set(types)].join(' or ')}` }];
  }
  const { rewrite } = ('params' in issue ? issue.params : undefined) ?? {};
  return [{ path, message: issue.message.replace(/^Invalid input: /, ''), ...(rewrite && { rewrite }) }];
}

/**
 * Returns a suggestion for an unknown key: another position of a key with the same name, or a similar key at the same
 * position.
 */
function suggestion(key: string, at: ProblemPath, known: KeyPath[]): Pick<InputProblem, 'message' | 'rewrite'> {
  const message = (end: string) => `unknown option${end}`;
  const here = at.filter((part) => typeof part === 'string');
  const leadsHere = (parents: KeyPath) => parents.every((parent, depth) => parent === '*' || parent === here[depth]);
  const parents = known.filter((path) => path.at(-1) === key && !path.includes('*')).map((path) => path.slice(0, -1));
  const around = parents.find((path) => path.length < here.length && leadsHere(path));
  if (around) {
    const beside = here[around.length] as string;
    const moveTo = (owner: ProblemPath) => [...owner.slice(0, owner.lastIndexOf(beside)), key];
    return {
      message: message(`: write it beside \`${beside}\``),
      rewrite: (owner) => ({ moveTo, value: owner[key] }),
    };
  }
  const below = parents.map((path) => path.filter((part, depth) => part !== here[depth]).join('.')).filter(Boolean);
  if (below.length > 0) return { message: message(`: write it in \`${[...new Set(below)].join('` or `')}\``) };
  const names = known.filter((path) => path.length === here.length + 1 && leadsHere(path.slice(0, -1)));
  return { message: message(didYouMean(key, names.map((path) => path.at(-1)) as string[])) };
}

function isInside(issue: Issue): boolean {
  return issue.path.length > 0 || issue.code === 'unrecognized_keys' || issue.code === 'custom';
}

export function formatPath(path: ProblemPath): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`;
    const key = printableLine(part, MAX_KEY_LENGTH);
    return text === '' ? key : `${text}.${key}`;
  }, '');
}

export function formatProblems(problems: InputProblem[]): string {
  return problems.map(({ path, message }) => `  ${path}: ${message}`).join('\n');
}

/** Returns, for example, `, did you mean "emit"?`. Empty if no name is similar. */
export function didYouMean(word: string, known: string[]): string {
  const near = known
    .map((name) => ({ name, distance: editDistance(word.toLowerCase(), name.toLowerCase()) }))
    .filter(({ name, distance }) => distance <= Math.max(1, Math.floor(name.length / 3)))
    .sort((a, b) => a.distance - b.distance)[0];
  return near ? `, did you mean "${near.name}"?` : '';
}

/**
 * Returns the edit distance: the number of insertions, deletions, replacements and swaps of neighbours that turn `a`
 * into `b`.
 */
function editDistance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, column) => column)];
  for (let row = 1; row <= a.length; row++) {
    rows[row] = [row];
    for (let column = 1; column <= b.length; column++) {
      const at = (up: number, left: number) => rows[row - up]?.[column - left] ?? 0;
      const same = a[row - 1] === b[column - 1];
      const swapped = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      let best = Math.min(at(1, 0) + 1, at(0, 1) + 1, at(1, 1) + (same ? 0 : 1));
      if (swapped) best = Math.min(best, at(2, 2) + 1);
      (rows[row] as number[])[column] = best;
    }
  }
  return rows[a.length]?.[b.length] ?? 0;
}
