import { z } from 'zod';
import type { Rewrite } from '../../protocol/base/problems.ts';

/** Units that Artillery's `ms` accepts, in milliseconds. */
const UNITS: [RegExp, number][] = [
  [/^(ms|msecs?|milliseconds?)$/i, 1],
  [/^(|s|secs?|seconds?)$/i, 1000],
  [/^(m|mins?|minutes?)$/i, 60_000],
  [/^(h|hrs?|hours?)$/i, 3_600_000],
];

/** Parses `2` (seconds), `0.5`, `"2"`, `"500ms"`, `"2s"`, `"5m"` or `"1h"` to milliseconds; undefined for anything else. */
export function durationMs(value: unknown): number | undefined {
  if (typeof value === 'number') return value >= 0 && Number.isFinite(value) ? value * 1000 : undefined;
  const [, amount, unit = ''] = (typeof value === 'string' && /^\s*(\d*\.?\d+)\s*([a-z]*)\s*$/i.exec(value)) || [];
  const unitMs = UNITS.find(([spelling]) => spelling.test(unit))?.[1];
  return amount === undefined || unitMs === undefined ? undefined : Number(amount) * unitMs;
}

/** Seconds, or a duration with a unit, parsed to milliseconds. The reference formats defaults by `unit`. */
export const durationSchema = z
  .unknown()
  .transform((value) => durationMs(value))
  .pipe(z.number({ error: 'expected seconds, or a duration such as "500ms"' }))
  .meta({ unit: 'duration' });

/** Smallest number that is taken for a time-out in milliseconds. */
const MILLISECONDS_FROM = 1000;

/** Rewrites a number as a duration in milliseconds. */
const inMilliseconds: Rewrite = (owner, key) => ({ owner: { ...owner, [key]: `${owner[key]}ms` } });

/** Schema of a time-out. Refuses numbers that are probably milliseconds, the unit of time-outs in other programs. */
export const timeoutSchema = z
  .unknown()
  .refine((value) => typeof value !== 'number' || value < MILLISECONDS_FROM, {
    error: ({ input }) => `numbers are seconds: write ${Number(input) / 1000}, or "${input}ms"`,
    params: { rewrite: inMilliseconds },
  })
  .pipe(durationSchema)
  .meta({ unit: 'duration' });
