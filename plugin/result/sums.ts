/** Adding up what several processes told. */
import {
  createHistogram,
  decodeHistogram,
  type Histogram,
  mergeHistograms,
  recordUs,
} from '../../protocol/histogram.ts';

export function merged(encoded: string[]): Histogram {
  return mergeHistograms(encoded.map(decodeHistogram));
}

export function histogramOf(valuesUs: number[]): Histogram {
  const histogram = createHistogram();
  for (const us of valuesUs) recordUs(histogram, us);
  return histogram;
}

export function sum(values: number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
