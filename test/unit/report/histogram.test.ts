import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  createHistogram,
  decodeHistogram,
  encodeHistogram,
  HISTOGRAM_MAX_US,
  mergeHistograms,
  recordedUs,
  recordUs,
  summaryMs,
} from '../../../protocol/histogram.ts';
import { column } from '../../helpers/columns.ts';

function near(actual: number, expected: number, relative = 0.002): void {
  assert.ok(Math.abs(actual - expected) <= Math.abs(expected) * relative, `${actual} is not near ${expected}`);
}

function histogramOf(valuesUs: Iterable<number>) {
  const histogram = createHistogram();
  for (const valueUs of valuesUs) recordUs(histogram, valueUs);
  return histogram;
}

test('an empty histogram has no summary, also after a trip through the encoding', () => {
  assert.equal(summaryMs(createHistogram()), null);
  assert.equal(summaryMs(decodeHistogram(encodeHistogram(createHistogram()))), null);
});

test('percentiles are given where their tail is at least one of the independent values', () => {
  const tenThousand = histogramOf(Array.from({ length: 10_000 }, (_, i) => i));
  const given = (independent: number) =>
    Object.entries(summaryMs(tenThousand, independent) ?? {})
      .filter(([key, value]) => /^p9/.test(key) && value !== null)
      .map(([key]) => key);
  assert.deepEqual(given(9), []);
  assert.deepEqual(given(10), ['p90']);
  assert.deepEqual(given(19), ['p90']);
  assert.deepEqual(given(20), ['p90', 'p95']);
  assert.deepEqual(given(99), ['p90', 'p95']);
  assert.deepEqual(given(100), ['p90', 'p95', 'p99']);
  assert.deepEqual(given(1000), ['p90', 'p95', 'p99', 'p999']);
});

test('what was recorded comes back with its counts, in order', () => {
  assert.deepEqual(recordedUs(histogramOf([7, 3, 7, 1_000_000])), [
    { valueUs: 3, count: 1 },
    { valueUs: 7, count: 2 },
    { valueUs: 1_000_447, count: 1 },
  ]);
});

test('percentiles are within 3 significant digits', () => {
  const summary = summaryMs(histogramOf(Array.from({ length: 10_000 }, (_, i) => (i + 1) * 100)));
  assert.ok(summary);
  assert.equal(summary.count, 10_000);
  near(summary.mean, 500.05);
  near(summary.p50, 500);
  near(summary.p90 ?? 0, 900);
  near(summary.p95 ?? 0, 950);
  near(summary.p99 ?? 0, 990);
  near(summary.p999 ?? 0, 999);
  near(summary.max, 1000);
});

test('what is out of range is kept at the edge, never dropped and never thrown', () => {
  const summary = summaryMs(histogramOf([-5, 0.7, HISTOGRAM_MAX_US * 10]));
  assert.equal(summary?.count, 3);
  near(summary?.max ?? 0, HISTOGRAM_MAX_US / 1000);
  assert.equal(summary?.p50, 0);
});

test('decoding gives back every count and goes on recording higher values', () => {
  const decoded = decodeHistogram(encodeHistogram(histogramOf([1, 10, 100])));
  recordUs(decoded, 5_000_000);
  assert.equal(decoded.totalCount, 4);
  near(decoded.maxValue, 5_000_000);
});

test('merging adds the counts of parts of different range and leaves the parts alone', () => {
  const parts = [histogramOf([1, 2, 3]), histogramOf([2_000_000]), createHistogram()];
  const merged = mergeHistograms(parts);
  assert.equal(merged.totalCount, 4);
  near(summaryMs(merged)?.max ?? 0, 2000);
  assert.deepEqual(column(parts, 'totalCount'), [3, 1, 0]);
});

test('garbage is refused', () => {
  assert.throws(() => decodeHistogram('bm90IGEgaGlzdG9ncmFt'));
});
