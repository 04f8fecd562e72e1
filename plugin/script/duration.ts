import { z } from 'zod';
import type { ScriptRewrite } from '../../protocol/base/problems.ts';

/** Time units of the package `ms`, which Artillery uses, with their milliseconds. */
const UNITS: [RegExp, number][] = [
  [/^(ms|msecs?|milliseconds?)$/i, 1],
  [/^(|s|secs?|seconds?)$/i, 1000],
  [/^(m|mins?|minutes?)$/i, 60_000],
  [/^(h|hrs?|hours?)$/i, 3_600_000],
];

/**
 * Parses a duration such as `2` (seconds), `"0.5"`, `"500ms"`, `"2s"`, `"5m"` or `"1h"`.
 * @returns milliseconds; undefined for any other value
 */
export function durationMs(value: unknown): number | undefined {
  if (typeof value === 'number') return value >= 0 && Number.isFinite(value) ? value * 1000 : undefined;
  const [, amount, unit = ''] = (typeof value === 'string' && /^\s*(\d*\.?\d+)\s*([a-z]*)\s*$/i.exec(value)) || [];
  const unitMs = UNITS.find(([spelling]) => spelling.test(unit))?.[1];
  return amount === undefined || unitMs === undefined ? undefined : Number(amount) * unitMs;
}

/** Schema of a duration: a number of seconds, or a number with a unit. The result is in milliseconds. */
export const durationSchema = z
  .unknown()
  .transform((value) => durationMs(value))
  .pipe(z.number({ error: 'expected seconds, or a duration such as "500ms"' }))
  .meta({ unit: 'duration' });

/**
 * Smallest number that is refused as a time-out, because it is probably meant in milliseconds. Time-outs without a unit
 * are in seconds.
 */
const MILLISECONDS_FROM = 1000;

/** Rewrites a number to a duration in milliseconds, such as `5000ms`. */
const inMilliseconds: ScriptRewrite = (owner, key) => ({ owner: { ...owner, [key]: `${owner[key]}ms` } });

/** Schema of a time-out. Refuses large numbers, because they are probably milliseconds, as in other programs. */
export const timeoutSchema = z
  .unknown()
  .refine((value) => typeof value !== 'number' || value < MILLISECONDS_FROM, {
    error: ({ input }) => `numbers are seconds: write ${Number(input) / 1000}, or "${input}ms"`,
    params: { rewrite: inMilliseconds },
  })
  .pipe(durationSchema)
  .meta({ unit: 'duration' });
