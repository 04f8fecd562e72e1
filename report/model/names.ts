/** Names and percentiles that several sections, charts and tables show. */
import type { BroadcastBatch } from '../../protocol/result/delivery-schema.ts';
import type { Summary } from '../../protocol/result/shared-schemas.ts';
import { integerText } from '../text/format.ts';
import { withUnit } from './amount.ts';

/**
 * Returns the number of the broadcast, such as `3`. For a row that sums up several broadcasts, returns the first and
 * the last number.
 */
export function batchName({ seq, broadcasts }: Pick<BroadcastBatch, 'seq' | 'broadcasts'>): string {
  return broadcasts === 1 ? integerText(seq) : `${integerText(seq)}–${integerText(seq + broadcasts - 1)}`;
}

export type Percentile = 'p50' | 'p90' | 'p95' | 'p99' | 'p999';

/**
 * Minimum number of independent values for each percentile. If there are fewer values, the percentile would equal the
 * maximum.
 */
export const MIN_PERCENTILE_VALUES: Record<Percentile, number> = { p50: 1, p90: 10, p95: 20, p99: 100, p999: 1000 };

/** Returns the highest known percentile of a distribution, up to p99. */
export function highestPercentile({ p50, p90, p95, p99 }: Summary): { ms: number; percentile: Percentile } {
  if (p99 !== null) return { ms: p99, percentile: 'p99' };
  if (p95 !== null) return { ms: p95, percentile: 'p95' };
  if (p90 !== null) return { ms: p90, percentile: 'p90' };
  return { ms: p50, percentile: 'p50' };
}

/** Returns the median and the highest known percentile of a distribution, such as `p50 15.2 ms, p99 41.3 ms`. */
export function percentilesText(summary: Summary): string {
  const { ms, percentile } = highestPercentile(summary);
  const tail = percentile === 'p50' ? [] : [`${percentile} ${withUnit('milliseconds', ms)}`];
  return [`p50 ${withUnit('milliseconds', summary.p50)}`, ...tail].join(', ');
}

/** Removes percentiles for which the run sent too few broadcasts. Results of older versions can contain them. */
export function supportedPercentiles(broadcasts: number, summary: Summary): Summary {
  const kept = (name: Exclude<Percentile, 'p50'>) => (broadcasts < MIN_PERCENTILE_VALUES[name] ? null : summary[name]);
  return { ...summary, p90: kept('p90'), p95: kept('p95'), p99: kept('p99'), p999: kept('p999') };
}
