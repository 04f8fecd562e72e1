import { z } from 'zod';

const UNITS_MS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** @returns milliseconds of `2` (seconds), `0.5`, `"2"`, `"500ms"`, `"2s"`, `"5m"`, `"1h"`; undefined for anything else */
export function durationMs(value: unknown): number | undefined {
  if (typeof value === 'number') return value >= 0 && Number.isFinite(value) ? value * 1000 : undefined;
  if (typeof value !== 'string') return undefined;
  const [, amount, unit = 's'] = /^\s*(\d*\.?\d+)\s*([a-z]*)\s*$/i.exec(value) ?? [];
  if (amount === undefined) return undefined;
  const unitMs = UNITS_MS[unitOf(unit.toLowerCase())];
  return unitMs === undefined ? undefined : Number(amount) * unitMs;
}

/** Accepts the long spellings that Artillery's `ms` accepts. */
function unitOf(word: string): string {
  if (/^(ms|msecs?|milliseconds?)$/.test(word)) return 'ms';
  if (/^(|s|secs?|seconds?)$/.test(word)) return 's';
  if (/^(m|mins?|minutes?)$/.test(word)) return 'm';
  return /^(h|hrs?|hours?)$/.test(word) ? 'h' : word;
}

/** Seconds or a duration with its unit, parsed to milliseconds. */
export const durationSchema = z
  .union([z.number(), z.string()], { error: 'expected seconds, or a duration such as "500ms"' })
  .transform((value, context) => {
    const ms = durationMs(value);
    if (ms !== undefined) return ms;
    context.addIssue({ code: 'custom', message: `expected seconds, or a duration such as "500ms", not ${value}` });
    return z.NEVER;
  })
  // For the reference, as below: its defaults are milliseconds.
  .meta({ unit: 'duration' });

/** Nobody waits that long for a connection or an answer: the number is meant in milliseconds. */
const MILLISECONDS_FROM = 1000;

/** Likewise, for the time to wait for a server; in other programs such times are in milliseconds. */
export const timeoutSchema = z
  .union([z.number(), z.string()], { error: 'expected seconds, or a duration such as "500ms"' })
  .refine((value) => typeof value !== 'number' || value < MILLISECONDS_FROM, {
    error: ({ input }) => `numbers are seconds: write ${Number(input) / 1000}, or "${input}ms"`,
  })
  .pipe(durationSchema)
  .meta({ unit: 'duration' });
