/** Adds up figures from several processes. */
import {
  createHistogram,
  decodeHistogram,
  type Histogram,
  mergeHistograms,
  recordUs,
  summarizeHistogramMs,
} from '../../protocol/base/histogram.ts';
import type { Summary } from '../../protocol/result/shared-schemas.ts';

export function mergeToHistogram(encoded: string[]): Histogram {
  return mergeHistograms(encoded.map(decodeHistogram));
}

export function histogramOf(valuesUs: number[]): Histogram {
  const histogram = createHistogram();
  for (const us of valuesUs) recordUs(histogram, us);
  return histogram;
}

/** Summarizes values, for example of all broadcasts or all round trips. */
export function summarizeUs(valuesUs: number[]): Summary | null {
  return summarizeHistogramMs(histogramOf(valuesUs), valuesUs.length);
}

export function sum(values: number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
