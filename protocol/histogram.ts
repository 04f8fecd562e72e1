/**
 * Latency histograms of the run: microseconds with 3 significant digits, up to one hour. They are sent and stored as
 * HdrHistogram's compressed base64, which any HdrHistogram library reads, and merge without losing precision.
 */
import {
  build,
  decodeFromCompressedBase64,
  encodeIntoCompressedBase64,
  type Histogram as HdrHistogram,
} from 'hdr-histogram-js';
import type { Summary } from './result.ts';

export type Histogram = HdrHistogram;

/** Higher values are recorded as this one: they are still counted, and visible as an absurd maximum. */
export const HISTOGRAM_MAX_US = 3_600_000_000;

/** @returns an empty histogram; 9 KB, growing with its highest value up to 95 KB */
export function createHistogram(): Histogram {
  return build({ numberOfSignificantValueDigits: 3, autoResize: true, highestTrackableValue: 2 });
}

/**
 * @param valueUs microseconds, rounded down. A negative value (clocks of two hosts) counts as 0.
 */
export function recordUs(histogram: Histogram, valueUs: number): void {
  histogram.recordValue(Math.min(Math.max(Math.floor(valueUs), 0), HISTOGRAM_MAX_US));
}

/** @returns compressed base64 */
export function encodeHistogram(histogram: Histogram): string {
  return encodeIntoCompressedBase64(histogram);
}

/** @throws Error when `encoded` is no compressed HdrHistogram */
export function decodeHistogram(encoded: string): Histogram {
  const histogram = decodeFromCompressedBase64(encoded);
  histogram.autoResize = true;
  return histogram;
}

/** @returns a new histogram with the counts of all parts, which stay unchanged */
export function mergeHistograms(parts: Iterable<Histogram>): Histogram {
  const merged = createHistogram();
  for (const part of parts) merged.add(part);
  return merged;
}

/** @returns the distribution in milliseconds; null if nothing was recorded */
export function summaryMs(histogram: Histogram): Summary | null {
  if (histogram.totalCount === 0) return null;
  const percentileMs = (percentile: number) => histogram.getValueAtPercentile(percentile) / 1000;
  return {
    count: histogram.totalCount,
    min: percentileMs(0),
    mean: histogram.mean / 1000,
    p50: percentileMs(50),
    p90: percentileMs(90),
    p95: percentileMs(95),
    p99: percentileMs(99),
    p999: percentileMs(99.9),
    max: histogram.maxValue / 1000,
  };
}
