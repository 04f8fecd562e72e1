import { z } from 'zod';

/** The spellings that Artillery's `ms` accepts, and their milliseconds. */
const UNITS: [RegExp, number][] = [
  [/^(ms|msecs?|milliseconds?)$/i, 1],
  [/^(|s|secs?|seconds?)$/i, 1000],
  [/^(m|mins?|minutes?)$/i, 60_000],
  [/^(h|hrs?|hours?)$/i, 3_600_000],
];

/** @returns milliseconds of `2` (seconds), `0.5`, `"2"`, `"500ms"`, `"2s"`, `"5m"`, `"1h"`; undefined for anything else */
export function durationMs(value: unknown): number | undefined {
  if (typeof value === 'number') return value >= 0 && Number.isFinite(value) ? value * 1000 : undefined;
  const [, amount, unit = ''] = (typeof value === 'string' && /^\s*(\d*\.?\d+)\s*([a-z]*)\s*$/i.exec(value)) || [];
  const unitMs = UNITS.find(([spelling]) => spelling.test(unit))?.[1];
  return amount === undefined || unitMs === undefined ? undefined : Number(amount) * unitMs;
}

/** Seconds or a duration with its unit, parsed to milliseconds. The reference shows its defaults by `unit`. */
export const durationSchema = z
  .unknown()
  .transform((value) => durationMs(value))
  .pipe(z.number({ error: 'expected seconds, or a duration such as "500ms"' }))
  .meta({ unit: 'duration' });

/** Nobody waits that long for a connection or an answer: the number is meant in milliseconds. */
const MILLISECONDS_FROM = 1000;

/** Likewise, for the time to wait for a server; in other programs such times are in milliseconds. */
export const timeoutSchema = z
  .unknown()
  .refine((value) => typeof value !== 'number' || value < MILLISECONDS_FROM, {
    error: ({ input }) => `numbers are seconds: write ${Number(input) / 1000}, or "${input}ms"`,
  })
  .pipe(durationSchema)
  .meta({ unit: 'duration' });
