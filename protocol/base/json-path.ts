/**
 * JSON paths in options: `$.memory.rss`. In the list of an event's arguments: `$.0.id`, `$[0].id`, `$[0]["message
 * id"]`, `$.0.*.id`.
 */

import { tryOrUndefined } from './try-or-undefined.ts';

/** Steps of a path. Each step is a key, a list index, or `*` for all keys and indices. */
export type JsonPath = readonly string[];

/** Step of a path. Names in double quotes are JSON strings, so that any name is possible. */
const STEP = /\.([^.[\]\s"']+)|\[(\d+|\*)\]|\['([^']+)'\]|\[("(?:[^"\\]|\\.)+")\]/y;
/** Step that matches every key or index. */
export const PATH_WILDCARD = '*';
/** Alias for the path `$.0`. Most events have a single argument. */
const FIRST_ARGUMENT = 'first argument';

/**
 * Parses a path in the arguments of an event. Returns undefined if the text is not a path or does not begin with an
 * argument.
 */
export function parseArgumentPath(text: string): JsonPath | undefined {
  if (text === FIRST_ARGUMENT) return ['0'];
  const path = parseJsonPath(text);
  return path && /^(\d+|\*)$/.test(path[0] ?? '') ? path : undefined;
}

/** Parses a path. Returns undefined if the text is not a path or has no step. */
export function parseJsonPath(text: string): JsonPath | undefined {
  const path: string[] = [];
  STEP.lastIndex = 1;
  while (STEP.lastIndex < text.length) {
    const found = STEP.exec(text);
    if (!found) return undefined;
    const [, name, index, single, double] = found;
    const step = double === undefined ? (name ?? index ?? single) : tryOrUndefined(() => JSON.parse(double) as string);
    if (step === undefined) return undefined;
    path.push(step);
  }
  return text.startsWith('$') && path.length > 0 ? path : undefined;
}

export function formatJsonPath(path: JsonPath): string {
  return `$${path.map((step) => (/^[^.[\]\s"']+$/.test(step) ? `.${step}` : `[${JSON.stringify(step)}]`)).join('')}`;
}

/** Returns the value at the path; undefined if there is none. */
export function valueAtPath(args: unknown, path: JsonPath): unknown {
  let value = args;
  for (const step of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as Record<string, unknown>)[step];
  }
  return value;
}

/** Returns all values that match the path, in order. A path with `*` can match several values. */
export function valuesAtPath(args: unknown, path: JsonPath): unknown[] {
  const star = path.indexOf(PATH_WILDCARD);
  if (star < 0) {
    const value = valueAtPath(args, path);
    return value === undefined ? [] : [value];
  }
  const all = valueAtPath(args, path.slice(0, star));
  if (typeof all !== 'object' || all === null || ArrayBuffer.isView(all)) return [];
  return Object.values(all).flatMap((value) => valuesAtPath(value, path.slice(star + 1)));
}
