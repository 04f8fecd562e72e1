/** Tests statistics with numbers that were calculated by hand, with Student's t from its printed table. */
import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { holmRejections, rankSumP } from '../../../report/statistics/rank-sum.ts';
import {
  confidenceInterval,
  detectableDifference,
  differenceOfEstimates,
  differenceOfLevels,
  differenceOfMeans,
  pooledNoise,
  runsNeeded,
  spreadOf,
} from '../../../report/statistics/spread.ts';
import { crossingOf, type FitPoint, fitLine, median } from '../../../report/statistics/statistics.ts';
import { studentP, studentT } from '../../../report/statistics/student.ts';

function near(actual: number | null | undefined, expected: number, tolerance = 0.001): void {
  assert.ok(
    typeof actual === 'number' && Math.abs(actual - expected) <= tolerance,
    `${actual} is not within ${tolerance} of ${expected}`,
  );
}

const points = (...pairs: [number, number][]): FitPoint[] => pairs.map(([x, y]) => ({ x, y }));

test("Student's t agrees with the printed tables", () => {
  const table95: [number, number][] = [
    [1, 12.7062],
    [2, 4.3027],
    [3, 3.1824],
    [4, 2.7764],
    [5, 2.5706],
    [10, 2.2281],
    [13, 2.1604],
    [30, 2.0423],
    [120, 1.9799],
  ];
  for (const [degrees, expected] of table95) {
    near(studentT(0.95, degrees), expected, 0.00005);
    near(studentP(expected, degrees), 0.05, 0.00005);
  }
  assert.deepEqual([studentP(0, 4), studentP(Number.POSITIVE_INFINITY, 4)], [1, 0]);
  near(studentT(0.99, 4), 4.6041, 0.00005);
  near(studentT(0.9, 7), 1.8946, 0.00005);
});

test('the confidence interval of a line equals that of R: lm(y ~ x), confint()', () => {
  const fit = fitLine(points([1, 2.1], [2, 3.9], [3, 6.2], [4, 7.8], [5, 10.1]));
  assert.ok(fit);
  near(fit.slope, 1.99, 1e-9);
  near(fit.intercept, 0.05, 1e-9);
  // The standard error of the residuals is 0.1888562 with 3 degrees of freedom, and that of the slope is 0.0597216.
  near(fit.low95, 1.99 - 3.182446 * 0.0597216, 1e-4);
  near(fit.high95, 1.99 + 3.182446 * 0.0597216, 1e-4);
  near(fit.r2, 0.9973, 1e-4);
  assert.equal(fit.n, 5);
});

test('a fitted line keeps the digits of large numbers', () => {
  const exact = fitLine(points([0, 5e9], [10_000, 5e9 + 1e8], [20_000, 5e9 + 2e8], [30_000, 5e9 + 3e8]));
  near(exact?.slope, 10_000, 1e-6);
  near(exact?.r2, 1, 1e-12);
  near((exact?.high95 ?? 0) - (exact?.low95 ?? 0), 0, 1e-3);
});

test('a fitted line needs two different x, and its interval needs three', () => {
  assert.equal(fitLine([]), null);
  assert.equal(fitLine(points([5, 1], [5, 2], [5, 3])), null);
  const two = fitLine(points([0, 1], [0, 1.2], [10, 2], [10, 2.2]));
  assert.deepEqual([two?.low95, two?.high95], [null, null]);
  near(two?.slope, 0.1, 1e-12);
});

test('a fitted line through constant values has slope 0 and explains all variance', () => {
  const flat = fitLine(points([0, 7], [1, 7], [2, 7]));
  assert.ok(flat);
  assert.deepEqual([flat.slope, flat.low95, flat.high95, flat.r2], [0, 0, 0, 1]);
  assert.equal(crossingOf(flat, 8), null);
});

test('a fitted line has an x at which it reaches a budget, unless it falls', () => {
  const fit = fitLine(points([1, 2.1], [2, 3.9], [3, 6.2], [4, 7.8], [5, 10.1]));
  near(fit && crossingOf(fit, 20), 19.95 / 1.99, 1e-9);
  const falling = fitLine(points([1, 3], [2, 2], [3, 1]));
  assert.equal(falling && crossingOf(falling, 0), null);
});

test('a fitted line that rises only by rounding errors reaches no budget', () => {
  const line = fitLine(points([0, 1e9], [10, 1e9 + 1e-6], [30, 1e9 + 1e-6], [50, 1e9 + 2e-6]));
  assert.ok(line && line.slope > 0);
  assert.equal(crossingOf(line, 24 * 1024 ** 3), null);
});

test('the median is the mean of the middle two of an even number', () => {
  assert.equal(median([]), undefined);
  assert.equal(median([3]), 3);
  assert.equal(median([10, 1, 2]), 2);
  assert.equal(median([10, 1, 2, 3]), 2.5);
});

const spread = (...values: number[]) => spreadOf(values) as NonNullable<ReturnType<typeof spreadOf>>;

describe('spreadOf', () => {
  it('spreadOf returns mean, deviation and interval of three runs', () => {
    const { runs, mean, min, max, deviation, low95, high95 } = spread(10, 12, 14);
    assert.deepEqual({ runs, mean, min, max, deviation }, { runs: 3, mean: 12, min: 10, max: 14, deviation: 2 });
    // t(0.95, 2) = 4.303, and 4.303 × 2 ÷ √3 = 4.969.
    near(low95, 12 - 4.969);
    near(high95, 12 + 4.969);
  });

  it('spreadOf returns no interval for two runs', () => {
    const { deviation, low95, high95 } = spread(10, 12);
    near(deviation, Math.SQRT2);
    assert.deepEqual([low95, high95], [null, null]);
  });

  it('spreadOf returns no deviation for a single run, and null without runs', () => {
    const { deviation, low95, high95 } = spread(10);
    assert.deepEqual([deviation, low95, high95], [null, null, null]);
    assert.equal(spreadOf([]), null);
  });
});

describe('meansApart', () => {
  it('meansApart uses Welch’s test, each side with its own deviation', () => {
    // Variances are 4 and 16, of 3 and 4 runs: 4/3 and 4. √(5.333) = 2.309; 5.333² ÷ (1.333²/2 + 4²/3) = 28.444 ÷ 6.222
    // = 4.571.
    const a = spread(10, 12, 14);
    const b = { ...spread(20), runs: 4, deviation: 4 };
    const estimate = differenceOfMeans(a, b);
    near(estimate?.value, 8);
    near(estimate?.error, 2.309);
    near(estimate?.degrees, 4.571);
  });

  it('meansApart gives a single run the spread of the repeats on the other side', () => {
    // The error is 2 × √(1/3 + 1) = 2.309, with the 2 degrees of freedom of the repeats.
    const estimate = differenceOfMeans(spread(10, 12, 14), spread(20));
    near(estimate?.value, 8);
    near(estimate?.error, 2.309);
    assert.equal(estimate?.degrees, 2);
    assert.equal(differenceOfMeans(spread(20), spread(10, 12, 14))?.degrees, 2);
  });

  it('meansApart uses the own error of a single run if that is larger', () => {
    // The error is √(2²/3 + 5²) = 5.132.
    near(differenceOfMeans(spread(10, 12, 14), spread(20), 5)?.error, 5.132);
    near(differenceOfMeans(spread(10, 12, 14), spread(20), 1)?.error, 2.309);
  });

  it('meansApart returns null for one run on each side', () => {
    assert.equal(differenceOfMeans(spread(10), spread(20)), null);
  });

  it('meansApart returns an interval without width for repeats that never differ', () => {
    const estimate = differenceOfMeans(spread(0, 0, 0), spread(5, 5, 5));
    assert.ok(estimate);
    assert.deepEqual(confidenceInterval(estimate, 0.95), { low: 5, high: 5 });
  });
});

describe('pooled noise', () => {
  it('pooled noise is the relative deviation of equal runs, over all combinations with several runs', () => {
    // The relative deviations are √2 ÷ 10 and 10 ÷ 200: √((0.02 + 2 × 0.0025) ÷ 3) = 9.129 %.
    const noise = pooledNoise([spread(9, 11), spread(190, 200, 210), spread(7), spread(0, 0)]);
    near(noise?.share, 0.09129, 0.00001);
    assert.equal(noise?.degrees, 3);
    assert.equal(pooledNoise([spread(7), spread(8)]), null);
  });

  it('a difference of few runs uses the pooled noise of the noisiest level, or the runs’ own noise if larger', () => {
    const noises = [
      { share: 0.05, degrees: 9 },
      { share: 0.1, degrees: 8 },
    ];
    // The deviations are 1 and 2, of two runs each: √(1/2 + 4/2) = 1.581.
    const difference = differenceOfLevels(spread(10, 10), spread(20, 20), noises, noises);
    near(difference?.estimate.error, 1.581);
    assert.deepEqual(
      [difference?.estimate.value, difference?.estimate.degrees],
      [10, 8],
      'both share the runs of a level',
    );
    // The runs 18 and 22 deviate by 2.828, and a single run by 10 %: √(1/1 + 8/2) = 2.236.
    near(differenceOfLevels(spread(10), spread(18, 22), noises, noises)?.estimate.error, 2.236);
    const own = differenceOfLevels(spread(9, 10, 11, 10), spread(20, 20, 21, 19), noises, noises);
    assert.equal(own?.isPooled, false, 'four runs show their own');
    near(own?.estimate.degrees, 6);
    assert.equal(differenceOfLevels(spread(9), spread(20), [], []), null);
  });
});

describe('holm', () => {
  it('holm compares the smallest p-value with the error ÷ all tests, and each next one with a larger share', () => {
    assert.deepEqual(holmRejections([0.06, 0.01, 0.02], 0.05), [false, true, true], '0.02 is below 0.05 ÷ 2');
    assert.deepEqual(holmRejections([0.03, 0.01, 0.02], 0.05), [true, true, true]);
    assert.deepEqual(
      holmRejections([0.04, 0.02, 0.04], 0.05),
      [false, false, false],
      'it stops at the first that fails',
    );
    assert.deepEqual(holmRejections([], 0.05), []);
  });
});

describe('rankSumP', () => {
  it('rankSumP is exact: 2 ÷ 252 if all of five values are below all of five others', () => {
    near(rankSumP([0, 0, 0, 0, 1], [2, 3, 4, 5, 6]), 2 / 252, 1e-9);
    assert.equal(rankSumP([1], [2]), 1);
  });

  it('rankSumP is Fisher’s exact test for values of zero or one', () => {
    // The counts are 1 of 5 and 4 of 5: 2 × (C(5,1) C(5,4) + 1) ÷ C(10,5) = 52 ÷ 252.
    near(rankSumP([0, 0, 0, 0, 1], [0, 1, 1, 1, 1]), 52 / 252, 1e-9);
    assert.equal(rankSumP([0, 0, 1], [1, 0, 0]), 1);
  });
});

it('a smaller difference needs more runs to be detected, and a zero difference needs infinitely many', () => {
  const estimate = { value: 0, error: 10, degrees: 8 };
  const runs = [100, 20, 10].map((margin) => runsNeeded(estimate, 5, 0.99, margin) ?? 0);
  // Four times as many runs halve the error: (2.6 + 0.85) × 10 × √(5 ÷ n) = 10.
  assert.ok(
    runs[0] === 6 && (runs[1] as number) > 14 && (runs[2] as number) > 55 && (runs[2] as number) < 66,
    `${runs}`,
  );
  assert.equal(runsNeeded(estimate, 5, 0.99, 0), null);
});

describe('intervalOf', () => {
  it('intervalOf uses Student’s t, with fractions of a degree rounded down', () => {
    const { low, high } = confidenceInterval({ value: 8, error: 2.309, degrees: 4.571 }, 0.95);
    near(low, 8 - 6.41, 0.01);
    near(high, 8 + 6.41, 0.01);
  });
});

describe('estimatesApart', () => {
  it('estimatesApart adds the variances', () => {
    const { value, error, degrees } = differenceOfEstimates(
      { value: 100, error: 3, degrees: 3 },
      { value: 110, error: 4, degrees: 3 },
    );
    // The degrees of freedom are 25² ÷ (81/3 + 256/3) = 625 ÷ 112.333.
    assert.deepEqual([value, error], [10, 5]);
    near(degrees, 5.564);
  });
});

it('the detectable difference is found in four of five comparisons, with degrees rounded down', () => {
  // The quantiles are t(0.95, 4) = 2.776 and t(0.6, 4) = 0.941; t(0.95, 1) = 12.706 and t(0.6, 1) = 1.376.
  near(detectableDifference({ value: 1, error: 2, degrees: 4.6 }, 0.95, 0), 2 * (2.7764 + 0.941));
  near(detectableDifference({ value: 1, error: 2, degrees: 0.4 }, 0.95, 0), 2 * (12.7062 + 1.3764));
  // A difference below the threshold is not detectable.
  near(detectableDifference({ value: 1, error: 2, degrees: 4.6 }, 0.95, 20), 20 + 2 * 0.941);
});
