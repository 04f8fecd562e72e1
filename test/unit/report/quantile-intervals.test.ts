import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { clusterIntervals, type ValueCluster } from '../../../report/statistics/quantile-intervals.ts';
import { normals } from '../../helpers/random-source.ts';

/** Returns the copies of a broadcast, which share the delay `shift`. */
function copies(shift: number, normal: () => number): ValueCluster {
  return Array.from({ length: 20 }, () => ({ value: shift + normal(), count: 1 }));
}

const single = (value: number): ValueCluster => [{ value, count: 1 }];
const of = (count: number) => Array.from({ length: count }, (_, index) => single(index + 1));

describe('percentile intervals of clustered copies', () => {
  it('percentile intervals of clustered copies equal the intervals of order statistics if every cluster is one value', () => {
    const ranks = (count: number, quantile: number) => clusterIntervals(of(count), [quantile])[0];
    // Probabilities of the ranks below: 96.9 %, 93.0 % (1 to 8: 99.2 %), 97.9 %, 94.3 % (40 to 61: 96.5 %), 96.1 %.
    assert.deepEqual(ranks(6, 0.5), { low: 1, high: 6 });
    assert.deepEqual(ranks(8, 0.5), { low: 2, high: 7 });
    assert.deepEqual(ranks(10, 0.5), { low: 2, high: 9 });
    assert.deepEqual(ranks(100, 0.5), { low: 41, high: 60 });
    assert.deepEqual(ranks(400, 0.99), { low: 392, high: 400 });
  });

  it('per-copy intervals are narrower than cluster intervals if the spread within a cluster equals the total spread', () => {
    const normal = normals(1);
    const drawn = Array.from({ length: 20 }, () => copies(0, normal));
    const [many] = clusterIntervals(drawn, [0.5]);
    const singles = drawn.map((cluster) => cluster.slice(0, 1));
    const [few] = clusterIntervals(singles, [0.5]);
    assert.ok(many && few && many.high - many.low < (few.high - few.low) / 2);
  });

  it('percentile intervals of clustered copies do not narrow with more copies of the same broadcasts', () => {
    const values = [10, 11, 12, 14, 17, 21, 26];
    const [one] = clusterIntervals(values.map(single), [0.5]);
    const repeated = values.map((value) => [{ value, count: 100_000 }]);
    const [many] = clusterIntervals(repeated, [0.5]);
    assert.deepEqual(many, one);
  });

  it('percentile intervals of clustered copies are the same for the same values in any order', () => {
    const normal = normals(1);
    const clusters = Array.from({ length: 8 }, () => copies(normal(), normal));
    const reversed = clusters.map((cluster) => cluster.toReversed());
    assert.deepEqual(clusterIntervals(reversed, [0.5]), clusterIntervals(clusters, [0.5]));
  });

  it('percentile intervals of clustered copies have no width without variation', () => {
    const same = Array.from({ length: 6 }, () => single(5));
    assert.deepEqual(clusterIntervals(same, [0.5]), [{ low: 5, high: 5 }]);
  });

  it('percentile intervals of clustered copies are absent if all clusters may lie on one side by chance', () => {
    const given = (count: number) => clusterIntervals(of(count), [0.5, 0.99]).map((interval) => interval !== null);
    assert.deepEqual(given(0), [false, false]);
    assert.deepEqual(given(5), [false, false]);
    assert.deepEqual(given(6), [true, false]);
    assert.deepEqual(given(367), [true, false]);
    assert.deepEqual(given(368), [true, true]);
  });

  it('the interval of a percentile is wider if the copies come from few broadcasts', () => {
    // Clusters of ten values from 1 to 60. `belows` has the number of values below the median in each cluster.
    const intervalOf = (belows: number[]) => {
      let [low, high] = [1, 31];
      const clusters = belows.map((below) =>
        Array.from({ length: 10 }, (_, index) => ({ value: index < below ? low++ : high++, count: 1 })),
      );
      return clusterIntervals(clusters, [0.5])[0];
    };
    // There are 6.25 × (6 − 1) independent values, reduced by t(1000)² ÷ t(5)² to 18. Ranks 5 to 14 enclose their
    // median.
    assert.deepEqual(intervalOf([7, 3, 7, 3, 7, 3]), { low: 16, high: 45 });
    // Two of six clusters vary. The 15 values, reduced by t(1000)² ÷ t(2)², are fewer than the six clusters, so the
    // clusters count.
    assert.deepEqual(intervalOf([10, 0, 5, 5, 5, 5]), { low: 7, high: 54 });
  });
});
