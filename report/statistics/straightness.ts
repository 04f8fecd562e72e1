/** Checks whether the slope of memory against connections can be quoted, and gives the reason if not. */
import type { MemoryPerConnection, MemorySlope } from '../../protocol/result/memory-schema.ts';
import { type FitPoint, type FittedLine, fitLine } from './statistics.ts';
import { studentT } from './student.ts';

export type SlopeDoubt = NonNullable<MemorySlope['doubt']>;

/** Confidence of the curvature test. One straight line in a hundred is wrongly called curved. */
const CONFIDENCE = 0.99;
/**
 * Largest half-width of an interval that can be quoted, as a share of the slope. With a wider interval, a repeated run
 * can differ by a third.
 */
export const MAX_HALF_WIDTH_SHARE = 0.25;
/**
 * Largest change of the memory per connection between the first and the last connection, as a share of the slope. A
 * line with a larger change is curved.
 */
const MAX_BEND = 0.2;

export const DOUBT_TEXTS: Record<MemoryPerConnection['without'][number]['doubt'], string> = {
  curved: 'not a straight line',
  grows: 'growth at an unchanged number of connections',
  freed: 'partly freed while it was measured',
  kept: 'most of it was still there after all connections had closed',
  reused: 'too few connections: they fitted into memory that the server already had',
  miscounted: 'unclear which connections it belongs to',
  noisy: 'lost in the noise of this machine',
  uncounted: 'RSS grew by more than V8 counts, and two numbers of connections show no margin',
};

/** Returns why a slope cannot be quoted; undefined if it can. */
export function whySlopeNotQuoted({
  slope,
  low95,
  high95,
  doubt,
}: Omit<MemorySlope, 'naive' | 'r2'>): string | undefined {
  if (doubt !== undefined) return DOUBT_TEXTS[doubt];
  if (low95 === null || high95 === null) return 'read at fewer than three numbers of connections';
  if (low95 <= 0) return 'no rise beyond its noise';
  return isNarrowInterval(slope, high95 - low95)
    ? undefined
    : `95 % interval wider than ± ${100 * MAX_HALF_WIDTH_SHARE} %`;
}

export function isNarrowInterval(value: number, width: number): boolean {
  return width / 2 <= MAX_HALF_WIDTH_SHARE * value;
}

/** @param noiseBytes smallest distance of the curve from the line, in the middle, that counts as curved */
export function isCurvedSeries(points: FitPoint[], noiseBytes = 0): boolean {
  const bend = fitBend(points);
  return bend !== null && Math.abs(bend.share) > Math.max(MAX_BEND, bend.halfWidth) && bend.offBytes >= noiseBytes;
}

interface Bend {
  /**
   * Change of the memory per connection from the first connection to the last, as a share of the slope. 0 for a
   * straight line.
   */
  share: number;
  /** Half-width of the 99 % interval of the change. */
  halfWidth: number;
  /** Distance between the parabola and the line at the middle, in bytes. */
  offBytes: number;
}

/**
 * Fits a parabola by least squares.
 * @returns null with fewer than four points, with fewer than three different x, or if the line does not rise
 */
export function fitBend(points: FitPoint[], line: FittedLine | null = fitLine(points)): Bend | null {
  const n = points.length;
  if (line === null || line.low95 === null || line.slope <= 0 || n < 4) return null;
  // The quadratic term is the slope between the residuals of x² and y.
  const square = fitLine(points.map(({ x }) => ({ x, y: x * x }))) as FittedLine;
  const rest = points.map(({ x, y }) => ({
    x: x * x - square.intercept - square.slope * x,
    y: y - line.intercept - line.slope * x,
  }));
  const squares = rest.reduce((sum, { x }) => sum + x * x, 0);
  const term = rest.reduce((sum, { x, y }) => sum + x * y, 0) / squares;
  const residualSquares = rest.reduce((sum, { x, y }) => sum + (y - term * x) ** 2, 0);
  const error = Math.sqrt(residualSquares / (n - 3) / squares);
  const xs = points.map(({ x }) => x);
  const range = Math.max(...xs) - Math.min(...xs);
  const perTerm = (2 * range) / line.slope;
  const halfWidth = studentT(CONFIDENCE, n - 3) * error * perTerm;
  return { share: term * perTerm, halfWidth, offBytes: (Math.abs(term) * range ** 2) / 4 };
}
