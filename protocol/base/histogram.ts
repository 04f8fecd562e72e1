/**
 * Latency histograms of the run: microseconds with 3 significant digits, up to one hour. They are sent and stored as
 * HdrHistogram's compressed base64, which any HdrHistogram library reads, and merge without losing precision.
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
import { attempt } from './attempt.ts';

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

/** Size of one that has counts everywhere. */
const MAX_INFLATED_BYTES = 2 ** 20;
/** Places in HdrHistogram's format, version 2. */
const [COMPRESSED_AT, DIGITS_AT] = [8, 12];

/** @returns whether it is one that `encodeHistogram` can have made: anything else might inflate to any size */
export function isEncodedHistogram(text: string): boolean {
  const isOne = attempt(() => {
    const compressed = Buffer.from(text, 'base64').subarray(COMPRESSED_AT);
    const inflated = inflateSync(compressed, { maxOutputLength: MAX_INFLATED_BYTES });
    return inflated.readInt32BE(DIGITS_AT) === 3 && decodeHistogram(text).totalCount >= 0;
  });
  return isOne ?? false;
}

/** @returns a new histogram with the counts of all parts, which stay unchanged */
export function mergeHistograms(parts: Iterable<Histogram>): Histogram {
  const merged = createHistogram();
  for (const part of parts) merged.add(part);
  return merged;
}

/** @param encoded as by `encodeHistogram` */
export function mergeEncoded(encoded: string[]): string {
  return encodeHistogram(mergeHistograms(encoded.map(decodeHistogram)));
}

/** @returns what was recorded, in the order of the values, each as exact as the histogram has it */
export function recordedUs(histogram: Histogram): { valueUs: number; count: number }[] {
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
 * @param independent values that do not depend on each other: copies of one broadcast are late together, so their
 *   number is that of the broadcasts. A percentile whose tail is less than one of them is null
 * @returns the distribution in milliseconds; null if nothing was recorded
 */
export function summaryMs(histogram: Histogram, independent = Number.POSITIVE_INFINITY): Summary | null {
  if (histogram.totalCount === 0) return null;
  const percentileMs = (percentile: number) => histogram.getValueAtPercentile(percentile) / 1000;
  // In whole numbers: 0.1 % of 1,000 is one.
  const carriedMs = (percentile: number) =>
    independent * (1000 - Math.round(percentile * 10)) >= 1000 ? percentileMs(percentile) : null;
  return {
    count: histogram.totalCount,
    min: percentileMs(0),
    mean: histogram.mean / 1000,
    p50: percentileMs(50),
    p90: carriedMs(90),
    p95: carriedMs(95),
    p99: carriedMs(99),
    p999: carriedMs(99.9),
    max: histogram.maxValue / 1000,
  };
}
