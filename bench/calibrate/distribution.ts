/** Exact percentiles by sorting, the reference for the product's histograms. */
import { decodeHistogram, mergeHistograms } from '../../protocol/base/histogram.ts';
import type { Result } from '../../protocol/result/result.ts';
import { type Bound, type Comparison, known, near } from './comparison.ts';

/** Returns nearest-rank percentiles; NaN without values. */
export function distributionOf(values: number[]) {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
  return { count: sorted.length, p50: at(0.5), p99: at(0.99), max: at(1) };
}

/** Returns rows that compare percentiles of the true times, in µs, with the measured ones, in ms. */
export function distributed(
  what: string,
  truthUs: number[],
  measured: Partial<Record<'p50' | 'p99' | 'max', number | null>> | null,
  bound: Bound,
): Comparison[] {
  const truth = distributionOf(truthUs.map((us) => us / 1000));
  return (['p50', 'p99', 'max'] as const).map((key) =>
    near(`${what}: ${key}`, 'ms', truth[key], known(measured?.[key]), bound),
  );
}

/** Returns the p99 in ms of all copies, from the histograms: a result with few broadcasts has no p99. @param keys keys of the histograms */
export function p99OfCopies({ histograms }: Result['latency'], keys = ['oneWayLocal', 'oneWayCrossWorker']): number {
  const decoded = keys.map((key) => decodeHistogram(histograms[key] ?? ''));
  return mergeHistograms(decoded).getValueAtPercentile(99) / 1000;
}
