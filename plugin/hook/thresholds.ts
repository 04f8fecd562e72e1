/** The thresholds of Artillery's plugin `ensure`, as it evaluated them. */
import type { Result } from '../../protocol/result/result.ts';
import type { Check } from './artillery.ts';

/** A metric: names of functions and operators have no dots. */
const METRIC = /[a-z_][\w-]*(?:\.[\w-]+)+/gi;

export function thresholdsOf(checks: Check[]): Result['thresholds'] {
  return checks.map(({ original, result, strict, hashed = '' }) => {
    // `ensure` evaluates a metric that does not exist like one that misses its threshold.
    const unknown = hashed.replaceAll(/'[^']*'/g, '').match(METRIC) ?? [];
    return { expression: original, met: result === 1, strict, ...(unknown.length > 0 && { unknown }) };
  });
}
