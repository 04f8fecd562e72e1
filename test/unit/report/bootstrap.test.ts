/** Intervals of clusters whose true median is known. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Cluster, clusterIntervals } from '../../../report/bootstrap.ts';

/** Standard normal, from a sequence of its own. */
function normals(seed: number): () => number {
  let state = seed;
  const uniform = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return (state + 0.5) / 2 ** 32;
  };
  return () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
}

/** All copies of a broadcast are late together, by `shift`. */
function copies(shift: number, normal: () => number): Cluster {
  return Array.from({ length: 20 }, () => ({ value: shift + normal(), count: 1 }));
}

const single = (value: number): Cluster => [{ value, count: 1 }];

describe('intervals of clusters', () => {
  it('cover the true median in 90 to 99 % of repeats, from six clusters on', () => {
    for (const clusters of [6, 20]) {
      const normal = normals(clusters);
      const repeats = 100;
      let covered = 0;
      for (let repeat = 0; repeat < repeats; repeat++) {
        const drawn = Array.from({ length: clusters }, () => copies(normal(), normal));
        const [interval] = clusterIntervals(drawn, [0.5]);
        if (interval && interval.low <= 0 && interval.high >= 0) covered++;
      }
      assert.ok(covered >= 90 && covered <= 99, `${covered} of ${repeats} with ${clusters} clusters`);
    }
  });

  it('do not become narrower with more copies of the same broadcasts', () => {
    const values = [10, 11, 12, 14, 17, 21, 26];
    const [one] = clusterIntervals(values.map(single), [0.5]);
    const [many] = clusterIntervals(
      values.map((value) => [{ value, count: 100_000 }]),
      [0.5],
    );
    assert.deepEqual(many, one);
  });

  it('are the same for the same values, in whatever order a cluster has them', () => {
    const normal = normals(1);
    const clusters = Array.from({ length: 8 }, () => copies(normal(), normal));
    const interval = clusterIntervals(clusters, [0.5]);
    assert.deepEqual(clusterIntervals(clusters, [0.5]), interval);
    assert.deepEqual(
      clusterIntervals(
        clusters.map((cluster) => cluster.toReversed()),
        [0.5],
      ),
      interval,
    );
  });

  it('have no width where nothing varies', () => {
    const same = Array.from({ length: 6 }, () => single(5));
    assert.deepEqual(clusterIntervals(same, [0.5]), [{ low: 5, high: 5 }]);
  });

  it('are absent where all clusters may lie on one side by chance', () => {
    const of = (count: number) => Array.from({ length: count }, (_, index) => single(index));
    const given = (count: number) => clusterIntervals(of(count), [0.5, 0.99]).map((interval) => interval !== null);
    assert.deepEqual(given(0), [false, false]);
    assert.deepEqual(given(5), [false, false]);
    assert.deepEqual(given(6), [true, false]);
    assert.deepEqual(given(367), [true, false]);
    assert.deepEqual(given(368), [true, true]);
  });
});
