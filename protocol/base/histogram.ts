/**
 * Latency histograms: microseconds with 3 significant digits, up to one hour. They are sent and stored in
 * HdrHistogram's compressed base64 format, and can be merged without loss of precision.
 */
import { inflateSync } from 'node:zlib';
import {
  build,
  decodeFromCompressedBase64,
  encodeIntoCompressedBase64,
  type Histogram as HdrHistogram,
  type JsHistogram,
} from 'hdr-histogram-js';
import type { Summary } from '../result/shared-schemas.ts';
import { tryOrUndefined } from './try-or-undefined.ts';

export type Histogram = HdrHistogram;

/** Highest recorded value. A higher value is recorded as this value, so that it is counted and clearly visible. */
export const HISTOGRAM_MAX_US = 3_600_000_000;

/** Returns an empty histogram. It takes 9 KB of memory, and up to 95 KB if it contains high values. */
export function createHistogram(): Histogram {
  return build({ numberOfSignificantValueDigits: 3, autoResize: true, highestTrackableValue: 2 });
}

/**
 * @param valueUs latency in microseconds, which is rounded down; a negative value, caused by the clocks of two hosts,
 * counts as 0
 */
export function recordUs(histogram: Histogram, valueUs: number): void {
  histogram.recordValue(Math.min(Math.max(Math.floor(valueUs), 0), HISTOGRAM_MAX_US));
}

export function encodeHistogram(histogram: Histogram): string {
  return encodeIntoCompressedBase64(histogram);
}

/** @throws Error if `encoded` is not a compressed HdrHistogram */
export function decodeHistogram(encoded: string): Histogram {
  const histogram = decodeFromCompressedBase64(encoded);
  histogram.autoResize = true;
  return histogram;
}

/** Maximum size of a decompressed histogram. It is sufficient for a histogram in which every count is used. */
const MAX_INFLATED_BYTES = 2 ** 20;
/** Byte offsets of two fields in version 2 of HdrHistogram's format. */
const [COMPRESSED_AT, DIGITS_AT] = [8, 12];

/** Returns whether the text is a histogram as written by `encodeHistogram`. Other text could decompress to any size. */
export function isEncodedHistogram(text: string): boolean {
  const isValid = tryOrUndefined(() => {
    const compressed = Buffer.from(text, 'base64').subarray(COMPRESSED_AT);
    const inflated = inflateSync(compressed, { maxOutputLength: MAX_INFLATED_BYTES });
    return inflated.readInt32BE(DIGITS_AT) === 3 && decodeHistogram(text).totalCount >= 0;
  });
  return isValid ?? false;
}

/** Returns a new histogram that contains the counts of all parts. */
export function mergeHistograms(parts: Iterable<Histogram>): Histogram {
  const merged = createHistogram();
  for (const part of parts) merged.add(part);
  return merged;
}

/** @param encoded histograms in the format of `encodeHistogram` */
export function mergeEncodedHistograms(encoded: string[]): string {
  return encodeHistogram(mergeHistograms(encoded.map(decodeHistogram)));
}

/** Returns the recorded values in ascending order, with the precision of the histogram. */
export function recordedValuesUs(histogram: Histogram): { valueUs: number; count: number }[] {
  const recorded: { valueUs: number; count: number }[] = [];
  const iterator = (histogram as JsHistogram).recordedValuesIterator;
  iterator.reset();
  while (iterator.hasNext()) {
    const { valueIteratedTo, countAtValueIteratedTo } = iterator.next();
    recorded.push({ valueUs: valueIteratedTo, count: countAtValueIteratedTo });
  }
  return recorded;
}

/**
 * Returns the distribution in milliseconds; null if nothing was recorded.
 * @param independent number of independent values. For latencies, it is the number of broadcasts, because copies of a
 * broadcast are late together. A percentile is null if fewer than one independent value is expected above it
 */
export function summarizeHistogramMs(histogram: Histogram, independent = Number.POSITIVE_INFINITY): Summary | null {
  if (histogram.totalCount === 0) return null;
  const percentileMs = (percentile: number) => histogram.getValueAtPercentile(percentile) / 1000;
  // Uses integers, so that 0.1 % of 1,000 is exactly 1.
  const supportedMs = (percentile: number) =>
    independent * (1000 - Math.round(percentile * 10)) >= 1000 ? percentileMs(percentile) : null;
  return {
    count: histogram.totalCount,
    min: percentileMs(0),
    mean: histogram.mean / 1000,
    p50: percentileMs(50),
    p90: supportedMs(90),
    p95: supportedMs(95),
    p99: supportedMs(99),
    p999: supportedMs(99.9),
    max: histogram.maxValue / 1000,
  };
}
