/** Problems of a script, each with its place in the YAML; all are reported together. */
import { z } from 'zod';
import { printable } from './printable.ts';

/** Of a key, which can be anything. */
const MAX_KEY_LENGTH = 100;

export interface Problem {
  /** Place in the YAML: `scenarios[0].flow[2].loop[1]`. */
  path: string;
  message: string;
}

export type Path = readonly (string | number)[];
type Issue = z.core.$ZodIssue;

/**
 * @param problems gets what is wrong with the value, with its place
 * @returns the parsed value; undefined if something is wrong
 */
export function check<S extends z.ZodType>(
  schema: S,
  value: unknown,
  at: Path,
  problems: Problem[],
): z.output<S> | undefined {
  const { data, error } = schema.safeParse(value);
  if (error) problems.push(...problemsOf(error, at, namesIn(schema)));
  return data;
}

/** @returns the keys that the schema accepts, at all depths */
function namesIn(schema: z.ZodType): string[] {
  const { shape, innerType, element, in: input, options, items } = schema.def as unknown as Record<string, unknown>;
  const inside = [innerType, element, input, ...((options ?? []) as unknown[]), ...((items ?? []) as unknown[])];
  const keys = Object.entries((shape ?? {}) as Record<string, z.ZodType>);
  return [
    ...keys.flatMap(([key, value]) => [key, ...namesIn(value)]),
    ...inside.flatMap((one) => (one instanceof z.ZodType ? namesIn(one) : [])),
  ];
}

/** @param known names to suggest for unknown ones */
export function problemsOf(error: z.ZodError, at: Path, known: string[]): Problem[] {
  return error.issues.flatMap((issue) => issueProblems(issue, at, known));
}

function issueProblems(issue: Issue, at: Path, known: string[]): Problem[] {
  const path = [...at, ...(issue.path as (string | number)[])];
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({
      path: formatPath([...path, key]),
      message: `unknown option${didYouMean(key, known)}`,
    }));
  }
  if (issue.code === 'invalid_union') {
    // The intended alternative is the one that fails below its root, or for unknown keys only.
    const meant = issue.errors.find((branch) => branch.every(isInside));
    if (meant && meant.length > 0) return meant.flatMap((inner) => issueProblems(inner, path, known));
  }
  return [{ path: formatPath(path), message: issue.message.replace(/^Invalid input: /, '') }];
}

function isInside(issue: Issue): boolean {
  return issue.path.length > 0 || issue.code === 'unrecognized_keys' || issue.code === 'custom';
}

export function formatPath(path: Path): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`;
    const key = printable(part, MAX_KEY_LENGTH);
    return text === '' ? key : `${text}.${key}`;
  }, '');
}

export function formatProblems(problems: Problem[]): string {
  return problems.map(({ path, message }) => `  ${path}: ${message}`).join('\n');
}

/** @returns `, did you mean "emit"?`, or an empty string if no name is similar */
export function didYouMean(word: string, known: string[]): string {
  const near = known
    .map((name) => ({ name, distance: editDistance(word.toLowerCase(), name.toLowerCase()) }))
    .filter(({ name, distance }) => distance <= Math.max(1, Math.floor(name.length / 3)))
    .sort((a, b) => a.distance - b.distance)[0];
  return near ? `, did you mean "${near.name}"?` : '';
}

/** Number of insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`. */
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
