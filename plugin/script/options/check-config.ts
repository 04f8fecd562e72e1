/** Options in `config`, whose templates Artillery fills in from the environment and `--variables`, once, before there are users. */
import type { z } from 'zod';
import { check, formatPath, type Path, type Problem } from '../../../protocol/base/problems.ts';
import { withScalars } from './written-scalars.ts';

const UNFILLED =
  'this template has no value: Artillery fills in those of `config` before there are users, from --variables and the environment; write what differs between users in `connect`, or in `socketio` of the scenario';

/** As `check`, with the text of a filled template as a number where one is expected. Refuses an empty template, which would count as unset. */
export function checkConfig<S extends z.ZodType>(
  schema: S,
  value: unknown,
  at: Path,
  problems: Problem[],
): z.output<S> | undefined {
  const unfilled = unfilledIn(value, at);
  problems.push(...unfilled);
  return unfilled.length === 0 ? check(schema, withScalars(schema, value), at, problems) : undefined;
}

/** @returns what a template left empty */
export function unfilledIn(value: unknown, at: Path): Problem[] {
  // Within a text, Artillery writes the word.
  if (value === undefined || (typeof value === 'string' && /\bundefined\b/.test(value))) {
    return [{ path: formatPath(at), message: UNFILLED }];
  }
  if (Array.isArray(value)) return value.flatMap((one, index) => unfilledIn(one, [...at, index]));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, one]) => unfilledIn(one, [...at, key]));
}
