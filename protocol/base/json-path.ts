/** The JSON paths of options: `$.0.id`, `$[0].id`, `$[0]["message id"]`, `$.0.*.id`, from the list of an event's arguments. */

import { attempt } from './attempt.ts';

/** What each step names: a key, the index in a list, or `*`: all there are. */
export type JsonPath = readonly string[];

/** In double quotes as in JSON, so that any name can be written. */
const STEP = /\.([^.[\]\s"']+)|\[(\d+|\*)\]|\['([^']+)'\]|\[("(?:[^"\\]|\\.)+")\]/y;
/** In place of a key or index: all of them. */
export const EACH = '*';
/** In words, as events usually have one argument. */
export const FIRST_ARGUMENT = 'first argument';

/** @returns undefined if it is no path, or names no argument */
export function parseJsonPath(text: string): JsonPath | undefined {
  if (text === FIRST_ARGUMENT) return ['0'];
  const path: string[] = [];
  STEP.lastIndex = 1;
  while (STEP.lastIndex < text.length) {
    const found = STEP.exec(text);
    if (!found) return undefined;
    const [, name, index, single, double] = found;
    const step = double === undefined ? (name ?? index ?? single) : attempt(() => JSON.parse(double) as string);
    if (step === undefined) return undefined;
    path.push(step);
  }
  return text.startsWith('$') && /^(\d+|\*)$/.test(path[0] ?? '') ? path : undefined;
}

export function formatJsonPath(path: JsonPath): string {
  return `$${path.map((step) => (/^[^.[\]\s"']+$/.test(step) ? `.${step}` : `[${JSON.stringify(step)}]`)).join('')}`;
}

/** @returns undefined where nothing stands at the path */
export function valueAt(args: unknown, path: JsonPath): unknown {
  let value = args;
  for (const step of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as Record<string, unknown>)[step];
  }
  return value;
}

/** @returns what stands at the path, in order; several values where it has a `*` */
export function valuesAt(args: unknown, path: JsonPath): unknown[] {
  const star = path.indexOf(EACH);
  if (star < 0) {
    const value = valueAt(args, path);
    return value === undefined ? [] : [value];
  }
  const all = valueAt(args, path.slice(0, star));
  if (typeof all !== 'object' || all === null || ArrayBuffer.isView(all)) return [];
  return Object.values(all).flatMap((one) => valuesAt(one, path.slice(star + 1)));
}
