import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  createHistogram,
  decodeHistogram,
  encodeHistogram,
  HISTOGRAM_MAX_US,
  mergeHistograms,
  recordedValuesUs,
  recordUs,
  summarizeHistogramMs,
} from '../../../protocol/base/histogram.ts';
import { column } from '../../helpers/columns.ts';

function near(actual: number, expected: number, relative = 0.002): void {
  assert.ok(Math.abs(actual - expected) <= Math.abs(expected) * relative, `${actual} is not near ${expected}`);
}

function histogramOf(valuesUs: Iterable<number>) {
  const histogram = createHistogram();
  for (const valueUs of valuesUs) recordUs(histogram, valueUs);
  return histogram;
}

test('an empty histogram has no summary, even after encoding and decoding', () => {
  assert.equal(summarizeHistogramMs(createHistogram()), null);
  assert.equal(summarizeHistogramMs(decodeHistogram(encodeHistogram(createHistogram()))), null);
});

test('percentiles require at least one independent value in their tail', () => {
  const tenThousand = histogramOf(Array.from({ length: 10_000 }, (_, i) => i));
  const given = (independent: number) =>
    Object.entries(summarizeHistogramMs(tenThousand, independent) ?? {})
      .filter(([key, value]) => /^p9/.test(key) && value !== null)
      .map(([key]) => key);
  const all = ['p90', 'p95', 'p99', 'p999'];
  for (const [independent, count] of Object.entries({ 9: 0, 10: 1, 19: 1, 20: 2, 99: 2, 100: 3, 1000: 4 })) {
    assert.deepEqual(given(Number(independent)), all.slice(0, count), independent);
  }
});

test('a histogram decodes recorded values with their counts, in order', () => {
  assert.deepEqual(recordedValuesUs(histogramOf([7, 3, 7, 1_000_000])), [
    { valueUs: 3, count: 1 },
    { valueUs: 7, count: 2 },
    { valueUs: 1_000_447, count: 1 },
  ]);
});

test('percentiles of a histogram are within 3 significant digits', () => {
  const summary = summarizeHistogramMs(histogramOf(Array.from({ length: 10_000 }, (_, i) => (i + 1) * 100)));
  assert.ok(summary);
  const { count, mean, p50, p90, p95, p99, p999, max } = summary;
  assert.equal(count, 10_000);
  const expected = [500.05, 500, 900, 950, 990, 999, 1000];
  for (const [index, ms] of [mean, p50, p90, p95, p99, p999, max].entries()) near(ms ?? 0, expected[index] ?? 0);
});

test('a histogram keeps values out of range at the edge, without an error', () => {
  const summary = summarizeHistogramMs(histogramOf([-5, 0.7, HISTOGRAM_MAX_US * 10]));
  assert.equal(summary?.count, 3);
  near(summary?.max ?? 0, HISTOGRAM_MAX_US / 1000);
  assert.equal(summary?.p50, 0);
});

test('decoding a histogram restores every count and allows higher values', () => {
  const decoded = decodeHistogram(encodeHistogram(histogramOf([1, 10, 100])));
  recordUs(decoded, 5_000_000);
  assert.equal(decoded.totalCount, 4);
  near(decoded.maxValue, 5_000_000);
});

test('merging histograms adds counts of different ranges and leaves the parts unchanged', () => {
  const parts = [histogramOf([1, 2, 3]), histogramOf([2_000_000]), createHistogram()];
  const merged = mergeHistograms(parts);
  assert.equal(merged.totalCount, 4);
  near(summarizeHistogramMs(merged)?.max ?? 0, 2000);
  assert.deepEqual(column(parts, 'totalCount'), [3, 1, 0]);
});

test('decoding a histogram refuses garbage', () => {
  assert.throws(() => decodeHistogram('bm90IGEgaGlzdG9ncmFt'));
});
