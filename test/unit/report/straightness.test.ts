import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { FitPoint } from '../../../report/statistics/statistics.ts';
import {
  fitBend,
  isCurvedSeries,
  type SlopeDoubt,
  whySlopeNotQuoted,
} from '../../../report/statistics/straightness.ts';

const MB = 1024 * 1024;
/** Fixed errors in MB that look random. */
const NOISE = [0.4, -0.7, 0.2, 0.6, -0.5];

/** Returns memory at 0, 250, … 1,000 connections. It starts at 100 MB. */
function series(mbAt: (share: number) => number, noise = 0): FitPoint[] {
  return NOISE.map((error, index) => ({ x: index * 250, y: (100 + mbAt(index / 4) + noise * error) * MB }));
}

describe('a slope as a figure', () => {
  const whyNotOf = (low95: number | null, high95: number | null, doubt?: SlopeDoubt) =>
    whySlopeNotQuoted({ slope: 10, low95, high95, ...(doubt && { doubt }) });

  it('reports memory per connection if the interval of its slope is narrow', () => {
    assert.equal(whyNotOf(7.6, 12.4), undefined);
  });

  it('does not report a slope with a wide interval, with too few plateaus, or with unexplained growth', () => {
    assert.match(whyNotOf(7, 13) ?? '', /wider than ± 25 %/);
    assert.match(whyNotOf(-1, 21) ?? '', /no rise/);
    assert.match(whyNotOf(0, 20) ?? '', /no rise/);
    assert.match(whyNotOf(null, null) ?? '', /fewer than three/);
    assert.match(whyNotOf(9, 11, 'grows') ?? '', /unchanged number/);
  });
});

describe('a curve of memory', () => {
  it('reports curvature if later connections cost more or less than the first', () => {
    assert.ok(isCurvedSeries(series((share) => 10 * share ** 2)));
    assert.ok(isCurvedSeries(series((share) => 10 * share ** 2, 0.1)));
    assert.ok(isCurvedSeries(series((share) => 10 * (1.5 * share - 0.5 * share ** 2))));
  });

  it('reports no curvature if the cost changes by less than a fifth, or by less than its error', () => {
    // The cost of a connection rises from 0.92 to 1.08 of the average.
    assert.ok(!isCurvedSeries(series((share) => 10 * (0.92 * share + 0.08 * share ** 2))));
    const noisy = series((share) => 10 * (0.8 * share + 0.2 * share ** 2), 0.25);
    const bend = fitBend(noisy);
    // The expected values are from the covariance matrix of the parabola's coefficients; t(0.99, 2) = 9.925.
    const [share, halfWidth] = [bend?.share ?? 0, bend?.halfWidth ?? 0];
    assert.ok(Math.abs(share - 0.3733) < 1e-4 && Math.abs(halfWidth - 1.6908) < 1e-4, `${share} ± ${halfWidth}`);
    assert.ok(!isCurvedSeries(noisy));
  });
});

describe('the bend', () => {
  it('the bend of a curve is the change of the cost from the first connection to the last, as a share of the average', () => {
    // The curve is 10 · (0.5 s + 0.5 s²), so the cost rises from 5 to 15.
    const bend = fitBend(series((share) => 10 * (0.5 * share + 0.5 * share ** 2)));
    assert.ok(bend && Math.abs(bend.share - 1) < 1e-6 && bend.halfWidth < 1e-6);
    const later = series((share) => 10 * (0.5 * share + 0.5 * share ** 2)).map(({ x, y }) => ({ x: x + 5000, y }));
    assert.ok(Math.abs((fitBend(later)?.share ?? 0) - 1) < 1e-6, 'from wherever they begin');
    const saving = fitBend(series((share) => 10 * (1.5 * share - 0.5 * share ** 2)));
    assert.ok(saving && Math.abs(saving.share + 1) < 1e-6);
  });

  it('the bend of a curve is unknown for three points, which always lie on a parabola', () => {
    const four = series((share) => 10 * share ** 2).slice(0, 4);
    assert.equal(fitBend(four.slice(0, 3)), null);
    assert.ok(fitBend(four));
  });

  it('the bend of a curve is unknown if the line does not rise, or with fewer than three numbers of connections', () => {
    const [rises, falls] = [1, -1].map((by) => series((share) => by * 10 * share ** 2)) as [FitPoint[], FitPoint[]];
    const two = rises.map(({ y }, index) => ({ x: index < 2 ? 0 : 1, y }));
    const one = rises.map(({ y }) => ({ x: 0, y }));
    for (const points of [falls, series(() => 0), two, one]) {
      assert.equal(fitBend(points), null);
      assert.equal(isCurvedSeries(points), false);
    }
  });
});
