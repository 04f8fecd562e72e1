/** Checks options in `config`. Artillery fills templates there once, before virtual users start. */
import type { z } from 'zod';
import { formatPath, type InputProblem, type ProblemPath, parseWithSchema } from '../../../protocol/base/problems.ts';
import { parseWrittenScalars } from './written-scalars.ts';

const UNFILLED =
  'this template has no value: Artillery fills templates in `config` before virtual users start, from --variables and the environment; write values that differ between users in `connect`, or in `socketio` of the scenario';

/**
 * Validates a value of `config`. Numbers may be given as text, because filled templates are text. Refuses templates
 * that had no value, because Artillery would treat the option as missing.
 */
export function checkConfig<S extends z.ZodType>(
  schema: S,
  value: unknown,
  at: ProblemPath,
  problems: InputProblem[],
): z.output<S> | undefined {
  const unfilled = unfilledOptions(value, at);
  problems.push(...unfilled);
  return unfilled.length === 0 ? parseWithSchema(schema, parseWrittenScalars(schema, value), at, problems) : undefined;
}

/** Returns the problems of options whose template had no value. */
export function unfilledOptions(value: unknown, at: ProblemPath): InputProblem[] {
  // In a longer text, Artillery replaces a template without a value by the word `undefined`.
  if (value === undefined || (typeof value === 'string' && /\bundefined\b/.test(value))) {
    return [{ path: formatPath(at), message: UNFILLED }];
  }
  if (Array.isArray(value)) return value.flatMap((item, index) => unfilledOptions(item, [...at, index]));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) => unfilledOptions(item, [...at, key]));
}
