import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fitLine, median, type Point, whereReaches } from '../../../report/statistics/statistics.ts';
import { studentT } from '../../../report/statistics/student.ts';

function near(actual: number | null | undefined, expected: number, tolerance: number): void {
  assert.ok(
    typeof actual === 'number' && Math.abs(actual - expected) <= tolerance,
    `${actual} is not within ${tolerance} of ${expected}`,
  );
}

const points = (...pairs: [number, number][]): Point[] => pairs.map(([x, y]) => ({ x, y }));

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
  for (const [degrees, expected] of table95) near(studentT(0.95, degrees), expected, 0.00005);
  near(studentT(0.99, 4), 4.6041, 0.00005);
  near(studentT(0.9, 7), 1.8946, 0.00005);
});

test('a line with its interval, against R: lm(y ~ x), confint()', () => {
  const fit = fitLine(points([1, 2.1], [2, 3.9], [3, 6.2], [4, 7.8], [5, 10.1]));
  assert.ok(fit);
  near(fit.slope, 1.99, 1e-9);
  near(fit.intercept, 0.05, 1e-9);
  // Residual standard error 0.1888562 with 3 degrees of freedom; slope's standard error 0.0597216.
  near(fit.low95, 1.99 - 3.182446 * 0.0597216, 1e-4);
  near(fit.high95, 1.99 + 3.182446 * 0.0597216, 1e-4);
  near(fit.r2, 0.9973, 1e-4);
  assert.equal(fit.n, 5);
});

test('memory of connections: large numbers keep their digits', () => {
  const exact = fitLine(points([0, 5e9], [10_000, 5e9 + 1e8], [20_000, 5e9 + 2e8], [30_000, 5e9 + 3e8]));
  near(exact?.slope, 10_000, 1e-6);
  near(exact?.r2, 1, 1e-12);
  near((exact?.high95 ?? 0) - (exact?.low95 ?? 0), 0, 1e-3);
});

test('an interval needs three different x, a line two', () => {
  assert.equal(fitLine([]), null);
  assert.equal(fitLine(points([5, 1], [5, 2], [5, 3])), null);
  const two = fitLine(points([0, 1], [0, 1.2], [10, 2], [10, 2.2]));
  assert.deepEqual([two?.low95, two?.high95], [null, null]);
  near(two?.slope, 0.1, 1e-12);
});

test('a layer that does not change has slope 0, explained in full', () => {
  const flat = fitLine(points([0, 7], [1, 7], [2, 7]));
  assert.ok(flat);
  assert.deepEqual([flat.slope, flat.low95, flat.high95, flat.r2], [0, 0, 0, 1]);
  assert.equal(whereReaches(flat, 8), null);
});

test('where the line reaches a budget; a falling one never does', () => {
  const fit = fitLine(points([1, 2.1], [2, 3.9], [3, 6.2], [4, 7.8], [5, 10.1]));
  near(fit && whereReaches(fit, 20), 19.95 / 1.99, 1e-9);
  const falling = fitLine(points([1, 3], [2, 2], [3, 1]));
  assert.equal(falling && whereReaches(falling, 0), null);
});

test('a line that rises by rounding errors only reaches nothing', () => {
  const line = fitLine(points([0, 1e9], [10, 1e9 + 1e-6], [30, 1e9 + 1e-6], [50, 1e9 + 2e-6]));
  assert.ok(line && line.slope > 0);
  assert.equal(whereReaches(line, 24 * 1024 ** 3), null);
});

test('median', () => {
  assert.equal(median([]), undefined);
  assert.equal(median([3]), 3);
  assert.equal(median([10, 1, 2]), 2);
  assert.equal(median([10, 1, 2, 3]), 2.5);
});
