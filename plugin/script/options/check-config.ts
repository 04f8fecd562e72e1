/** Checks options in `config`. Artillery fills templates there once, before virtual users start. */
import type { z } from 'zod';
import { check, formatPath, type Path, type Problem } from '../../../protocol/base/problems.ts';
import { withScalars } from './written-scalars.ts';

const UNFILLED =
  'this template has no value: Artillery fills templates in `config` before virtual users start, from --variables and the environment; write values that differ between users in `connect`, or in `socketio` of the scenario';

/**
 * Validates a value. Numbers may be given as text, because filled templates are text. Refuses templates that had no
 * value, because Artillery would treat the option as missing.
 */
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

/** Returns the problems of options whose template had no value. */
export function unfilledIn(value: unknown, at: Path): Problem[] {
  // In a longer text, Artillery replaces a template without a value by the word `undefined`.
  if (value === undefined || (typeof value === 'string' && /\bundefined\b/.test(value))) {
    return [{ path: formatPath(at), message: UNFILLED }];
  }
  if (Array.isArray(value)) return value.flatMap((item, index) => unfilledIn(item, [...at, index]));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) => unfilledIn(item, [...at, key]));
}
