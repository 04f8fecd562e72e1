/** Tests the coverage of intervals with simulated figures whose true value is known. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { comparisonCells } from '../../../bench/calibrate/comparison.ts';
import { plateauRows } from '../../../bench/calibrate/coverage/memory-coverage.ts';
import { clusterIntervals, type ValueCluster } from '../../../report/statistics/quantile-intervals.ts';
import { confidenceInterval, differenceOfLevels, pooledNoise, spreadOf } from '../../../report/statistics/spread.ts';
import { normals, uniforms } from '../../helpers/random-source.ts';

/** Returns the copies of a broadcast, which share the delay `shift`. */
function copies(shift: number, normal: () => number): ValueCluster {
  return Array.from({ length: 20 }, () => ({ value: shift + normal(), count: 1 }));
}

const spread = (...values: number[]) => spreadOf(values) as NonNullable<ReturnType<typeof spreadOf>>;

describe('percentile intervals of clustered copies', () => {
  it('percentile intervals of clustered copies contain the true percentile in 90 to 99 % of simulations', () => {
    const cases = [
      { what: 'normal', clusters: 6, quantile: 0.5, truth: 0, shift: (normal: number) => normal },
      { what: 'normal', clusters: 20, quantile: 0.5, truth: 0, shift: (normal: number) => normal },
      // True median and p99, from eight million simulated copies.
      { what: 'skewed', clusters: 8, quantile: 0.5, truth: 1.229, shift: (normal: number) => Math.exp(normal) },
      { what: 'skewed', clusters: 400, quantile: 0.99, truth: 10.4, shift: (normal: number) => Math.exp(normal) },
    ];
    for (const { what, clusters, quantile, truth, shift } of cases) {
      const normal = normals(clusters);
      const repeats = 500;
      let covered = 0;
      for (let repeat = 0; repeat < repeats; repeat++) {
        const drawn = Array.from({ length: clusters }, () => copies(shift(normal()), normal));
        const [interval] = clusterIntervals(drawn, [quantile]);
        if (interval && interval.low <= truth && interval.high >= truth) covered++;
      }
      const share = covered / repeats;
      assert.ok(share >= 0.9 && share <= 0.99, `${what}: ${covered} of ${repeats} with ${clusters} clusters`);
    }
  });
});

describe('the interval of a slope', () => {
  const rows = plateauRows(150, uniforms(9));

  for (const row of rows) {
    const [what, , measured] = comparisonCells(row);
    it(`the 95 % interval of a slope contains the true slope as often as stated: ${what}`, () =>
      assert.ok(row.ok, measured));
  }

  it('the interval of a slope shrinks with more plateaus, and with more readings that show the noise', () => {
    const [plateaus, samePlateaus, readings] = rows.slice(-3).map(({ truth, measured }) => measured / truth);
    assert.ok((plateaus as number) < 0.8, `${plateaus}`);
    assert.ok((samePlateaus as number) < 0.85, `${samePlateaus}`);
    assert.ok((readings as number) < 0.65, `${readings}`);
  });
});

describe('pooled noise', () => {
  it('95 % intervals from pooled noise contain the true value in about 95 % of simulated studies', () => {
    const random = normals(1);
    const runs = (mean: number) => spread(mean * (1 + 0.05 * random()), mean * (1 + 0.05 * random()));
    const studies = 1000;
    let missed = 0;
    for (let study = 0; study < studies; study++) {
      const [a, b, ...others] = [100, 120, 5, 50, 70, 1000, 3000, 4000].map(runs);
      assert.ok(a && b);
      const noise = pooledNoise([a, b, ...others]);
      assert.ok(noise);
      const difference = differenceOfLevels(a, b, [noise], [noise]);
      assert.ok(difference);
      const { low, high } = confidenceInterval(difference.estimate, 0.95);
      if (low > 20 || high < 20) missed++;
    }
    assert.ok(missed > 0 && missed <= 0.05 * studies, `${missed} of ${studies}`);
  });
});
