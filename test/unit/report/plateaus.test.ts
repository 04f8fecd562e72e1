import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fitPlateauDifferences, fitPlateaus } from '../../../report/statistics/plateaus.ts';
import { fitLine } from '../../../report/statistics/statistics.ts';
import { assertEach } from '../../helpers/columns.ts';

/**
 * Expected values of statsmodels 0.15, for each ratio q of the variances: m = UnobservedComponents(y, 'local level',
 * exog=x[:, None], use_exact_diffuse=True, mle_regression=False) r = m.smooth([1.0, q]); r.smoothed_state[1, -1],
 * sqrt(r.smoothed_state_cov[1, 1, -1])
 */
it('finds the slope and error of a Kalman smoother if the variances are given', () => {
  const points = [100, 109.2, 121.5, 129.1, 142.3, 150.8, 163.9, 171.2, 182.7].map((y, i) => ({ x: 10 * i, y }));
  for (const [ratio, slope, error] of [
    [0, 1.0388333333333333, 0.012909944487358056],
    [0.3, 1.03716904673971, 0.023855259649449904],
    [3, 1.0342725598526699, 0.06336192046497018],
  ] as const) {
    const fit = fitPlateauDifferences(points, 1, ratio);
    assert.ok(Math.abs(fit.slope - slope) < 1e-6, `${ratio}: ${fit.slope}`);
    assert.ok(Math.abs(1 / Math.sqrt(fit.information) - error) < 1e-6, `${ratio}: ${fit.information}`);
  }
});

const UNEVEN = [0, 10, 20, 20, 35, 45, 60, 70, 80];

function near(actual: number | null | undefined, expected: number): void {
  const isNear = typeof actual === 'number' && Math.abs(actual - expected) <= 1e-7 * Math.abs(expected);
  assert.ok(isNear, `${actual} is not ${expected}`);
}

/** Expected values are from generalized least squares with the inverted covariance matrix of the differences. */
it('fitting plateaus weights steps by their length, and removes the effect of a second variable', () => {
  const ys = [100, 109.2, 121.5, 129.1, 142.3, 150.8, 163.9, 171.2, 182.7];
  const influences = [0, 5, 9, 16, 20, 31, 36, 44, 50];
  const withoutInfluence = UNEVEN.map((x, index) => ({ x, y: ys[index] as number }));
  const withInfluence = withoutInfluence.map((point, index) => ({ ...point, beside: influences[index] as number }));
  for (const [points, independent, staying, logDeterminant, information, slope, squares] of [
    [withoutInfluence, 1, 0.3, 4.7354947926170885, 1749.4122400807112, 1.019355648205377, 69.13006582362277],
    [withoutInfluence, 0, 1, -1.4916548767777167, 800, 0.93875, 596.8854166666656],
    [withoutInfluence, 1, 0, 2.197224577336219, 6205.555555555557, 1.0152641002685765, 90.40303939122532],
    [withInfluence, 1, 0.3, 11.309288381022, 89.60406824902968, 0.5816715634969026, 47.534247327078944],
    [withInfluence, 0, 1, 5.620440463183161, 359.4022332605166, 0.6359969174849575, 67.14773660995064],
    [withInfluence, 1, 0, 10.024554080515571, 98.23137237530005, 0.5448471797878393, 68.31557943156083],
  ] as const) {
    const fit = fitPlateauDifferences(points, independent, staying);
    near(fit.logDeterminant, logDeterminant);
    near(fit.information, information);
    near(fit.slope, slope);
    near(fit.squares, squares);
  }
});

/**
 * Expected values are the output of this program at a time when simulations (`coverage.test.ts`) had shown that its
 * intervals contain the slope.
 */
it('reproduces the known interval of the slope through a fixed series of plateaus', () => {
  const ys = [100, 109.2, 121.5, 119.1, 137.3, 145.8, 163.9, 171.2, 182.7];
  for (const [variance, slope, low95, high95, intercept] of [
    [undefined, 1.0408600706098272, 0.9303374433930385, 1.162849761961858, 99.64528622140651],
    [1e-6, 1.0408600706098272, 0.9303374433930385, 1.162849761961858, 99.64528622140651],
    [0.3, 1.0395352774458066, 0.9430790908728502, 1.1372813741653989, 99.69533396315839],
    [3, 1.0394580602302448, 0.9396500756784786, 1.1363779259346587, 99.6982510579685],
  ] as const) {
    const line = fitPlateaus(UNEVEN.map((x, index) => ({ x, y: ys[index] as number, variance })));
    near(line?.slope, slope);
    near(line?.low95, low95);
    near(line?.high95, high95);
    near(line?.intercept, intercept);
  }
});

describe('the interval of a slope', () => {
  it('the interval of a slope has no width around a perfect line, at any scale', () => {
    const line = fitPlateaus([0, 1, 2, 3].map((x) => ({ x: 1e4 * x, y: 5e9 + 1e8 * x })));
    assert.ok(line && Math.abs(line.slope - 1e4) < 1e-6 && Math.abs(line.intercept - 5e9) < 1);
    assert.ok(line.high95 !== null && line.high95 - line.slope < 1e-3);
    const flat = fitPlateaus([0, 1, 2].map((x) => ({ x, y: 7 })));
    assertEach([flat?.slope, flat?.low95, flat?.high95], (value) => Math.abs(Math.round(value ?? 9)), [0, 0, 0]);
  });

  it('the interval of a slope is unknown for two points, and finite if points share their x', () => {
    const two = [
      { x: 0, y: 1 },
      { x: 10, y: 2 },
    ];
    assert.deepEqual(fitPlateaus(two), fitLine(two));
    const withIndexInfluence = [0, 1, 3].map((x, index) => ({ x, y: x + (index % 2), beside: index }));
    assert.equal(fitPlateaus(withIndexInfluence), null, 'three points tell nothing of three unknowns');
    assert.equal(fitPlateaus([]), null);
    const inStep = UNEVEN.map((x, index) => ({ x, y: x + (index % 2), beside: 3 * x }));
    assert.equal(fitPlateaus(inStep), null, 'nothing tells the two apart');
    const twice = fitPlateaus([0, 2, 4, 6, 8, 8].map((x, index) => ({ x, y: x + 0.01 * (index % 2) })));
    assert.ok(twice?.low95 && twice.low95 > 0.9 && twice.high95 < 1.1, `${twice?.low95} ${twice?.high95}`);
  });
});
