/** Names of things that several sections, charts and tables speak of. */
import type { Batch } from '../../protocol/result/delivery-schema.ts';
import type { Summary } from '../../protocol/result/shared-schemas.ts';
import { integer } from '../text/format.ts';

/** @returns the number of the broadcast; in long runs, those of the first and last that the row stands for */
export function batchName({ seq, broadcasts }: Pick<Batch, 'seq' | 'broadcasts'>): string {
  return broadcasts === 1 ? integer(seq) : `${integer(seq)}–${integer(seq + broadcasts - 1)}`;
}

export type Percentile = 'p50' | 'p90' | 'p95' | 'p99' | 'p999';

/** How many independent values a percentile takes, not to be the highest one by another name. */
export const VALUES_NEEDED: Record<Percentile, number> = { p50: 1, p90: 10, p95: 20, p99: 100, p999: 1000 };

/** The highest percentile that is known, and which share of all it leaves below. */
export function tailOf(summary: Summary): { share: string; ms: number; percentile: Percentile } {
  const { p50, p90, p95, p99 } = summary;
  if (p99 !== null) return { share: '99 %', ms: p99, percentile: 'p99' };
  if (p95 !== null) return { share: '95 %', ms: p95, percentile: 'p95' };
  if (p90 !== null) return { share: '90 %', ms: p90, percentile: 'p90' };
  return { share: 'half', ms: p50, percentile: 'p50' };
}

/** Without the percentiles that so few broadcasts do not carry, which results of older versions have. */
export function carriedBy(broadcasts: number, summary: Summary): Summary {
  const kept = (name: Exclude<Percentile, 'p50'>) => (broadcasts < VALUES_NEEDED[name] ? null : summary[name]);
  return { ...summary, p90: kept('p90'), p95: kept('p95'), p99: kept('p99'), p999: kept('p999') };
}
