/** Medians, and straight lines fitted to measured points, with their error. */
import { studentT } from './student.ts';

const CONFIDENCE = 0.95;

export interface FitPoint {
  x: number;
  y: number;
}

/**
 * Fitted line. The interval is null with fewer than three different x, because there is no residual for an error
 * estimate.
 */
export type FittedLine = {
  slope: number;
  intercept: number;
  /** Share of the variance of y that the line explains; 1 when y does not vary. */
  r2: number;
  /** Points. */
  n: number;
} & ({ low95: number; high95: number } | { low95: null; high95: null });

/**
 * Ordinary least squares of y on x, with the slope's 95 % confidence interval by Student's t.
 * @returns null when there are fewer than two different x
 */
export function fitLine(points: FitPoint[]): FittedLine | null {
  const n = points.length;
  const distinct = new Set(points.map((point) => point.x)).size;
  if (distinct < 2) return null;
  const xMean = mean(points.map((point) => point.x));
  const yMean = mean(points.map((point) => point.y));
  let xSquares = 0;
  let ySquares = 0;
  let products = 0;
  for (const { x, y } of points) {
    xSquares += (x - xMean) ** 2;
    ySquares += (y - yMean) ** 2;
    products += (x - xMean) * (y - yMean);
  }
  const slope = products / xSquares;
  const intercept = yMean - slope * xMean;
  // Sums residuals point by point. The shortcut by subtraction loses all digits if the line fits almost perfectly.
  const residualSquares = points.reduce((sum, { x, y }) => sum + (y - intercept - slope * x) ** 2, 0);
  const r2 = ySquares === 0 ? 1 : 1 - residualSquares / ySquares;
  const estimate = { slope, intercept, r2, n };
  if (distinct < 3) return { ...estimate, low95: null, high95: null };

  const residualDeviation = Math.sqrt(residualSquares / (n - 2));
  const halfWidth = (studentT(CONFIDENCE, n - 2) * residualDeviation) / Math.sqrt(xSquares);
  return { ...estimate, low95: slope - halfWidth, high95: slope + halfWidth };
}

/** Returns the x at which the line reaches `y`; null if the line does not rise, or only by rounding errors. */
export function crossingOf({ slope, intercept }: FittedLine, y: number): number | null {
  const x = (y - intercept) / slope;
  return slope > 0 && x <= Number.MAX_SAFE_INTEGER ? x : null;
}

/** Returns the median; undefined without values. */
export function median(values: number[]): number | undefined {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle];
  if (upper === undefined || sorted.length % 2 === 1) return upper;
  return ((sorted[middle - 1] ?? upper) + upper) / 2;
}

/** Returns the mean; NaN without values. */
export function mean(values: number[]): number {
  return sum(values) / values.length;
}

export function sum(values: number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
