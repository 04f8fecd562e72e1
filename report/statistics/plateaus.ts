/**
 * Estimates the memory of each connection, with its interval, from readings at several numbers of connections. The readings contain two
 * kinds of noise. Independent noise differs at each plateau: garbage, other programs. Persistent noise remains in all later readings: pages
 * that a process has taken once. Averaging over the plateaus reduces only independent noise.
 *
 * The model is a regression with a local level: a random walk plus independent noise (Harvey, Forecasting, Structural Time Series Models
 * and the Kalman Filter, 1989, chapter 4 and section 7.3). Few plateaus do not determine the ratio of both noises, and the most likely
 * ratio would give too narrow an interval. The interval therefore comes from a mixture over all ratios. Each is weighted by its restricted
 * likelihood (Harville 1974) and a prior that favours persistent noise. Repeated readings at a plateau give a lower bound of the
 * independent noise.
 */
import { type FitPoint, type FittedLine, fitLine, mean, sum } from './statistics.ts';

/**
 * Point that stands for a plateau: x is the number of connections, y the memory. Points are in the order of reading.
 */
export interface PlateauPoint extends FitPoint {
  /** Variance of the mean y, from repeated memory readings; missing for a single reading. */
  variance?: number | undefined;
  /** Another variable that affects y, such as time. Its effect is removed from the slope. */
  beside?: number;
}

interface Candidate {
  weight: number;
  slope: number;
  error: number;
}

/** Ratios of the persistent variance per step to the independent variance, with their prior probabilities. */
const RATIOS: [ratio: number, prior: number][] = [
  [0, 0.05],
  ...[-1, 0, 1, 2, 3].map((log): [number, number] => [Math.exp(log), 0.05]),
  [Number.POSITIVE_INFINITY, 0.7],
];
/** Ratios and priors for plateaus with repeated readings. The repeats give the independent noise. */
const KNOWN_RATIOS: [ratio: number, prior: number][] = [
  [0, 0.1],
  ...steps(-1, 14, 0.5).map((log): [number, number] => [Math.exp(log), 0.04]),
];
/** Grid of noise scales around the estimate, as natural logarithms of the variance. */
const SCALES = { from: -4, to: 12, step: 0.25 };
/** Smallest length of a step between two plateaus, as a share of the mean length. */
const LEAST_STEP = 0.1;
/** Variance of the reading noise, as a share of the steps' variance, below which it is ignored. */
const LEAST_NOISE = 0.01;
const TAIL = 0.025;

/**
 * Fits a line through the plateaus and returns its 95 % interval. With fewer than three different x, it is an ordinary
 * line. Null if the effects of `x` and `beside` cannot be separated.
 */
export function fitPlateaus(points: PlateauPoint[]): FittedLine | null {
  const line = fitLine(points);
  if (line === null || line.low95 === null) return line;
  const degrees = points.length - (points[0]?.beside === undefined ? 2 : 3);
  if (degrees < 1 || fitPlateauDifferences(points, 0, 1).information === 0) return null;
  if (points.every(({ y, variance = 0 }) => y === points[0]?.y && variance === 0))
    return { ...line, low95: 0, high95: 0 };
  const candidates = candidatesOf(points, degrees);
  const total = sum(candidates.map(({ weight }) => weight));
  const slope = sum(candidates.map((one) => one.weight * one.slope)) / total;
  const below = (x: number) => sum(candidates.map((one) => one.weight * normal((x - one.slope) / one.error))) / total;
  const reach = Math.max(...candidates.map((one) => Math.abs(one.slope - slope) + 10 * one.error));
  const [low95, high95] = [TAIL, 1 - TAIL].map((share) => quantileOf(share, below, slope - reach, slope + reach));
  const intercept = mean(points.map(({ y }) => y)) - slope * mean(points.map(({ x }) => x));
  return { ...line, slope, intercept, low95: low95 as number, high95: high95 as number };
}

/** Returns the noise models whose weight is not negligible. */
function candidatesOf(points: PlateauPoint[], degrees: number): Candidate[] {
  const staying = fitPlateauDifferences(points, 0, 1);
  const read = mean(points.map(({ variance }) => variance ?? 0));
  const noise = read > (LEAST_NOISE * staying.squares) / degrees ? read : 0;
  const found: (Omit<Candidate, 'weight'> & { log: number })[] = [];
  const add = ({ logDeterminant, information, slope, squares }: Fit, variance: number, prior: number) =>
    found.push({
      slope,
      error: Math.sqrt(variance / information),
      log:
        Math.log(prior) -
        (logDeterminant + Math.log(information) + degrees * Math.log(variance) + squares / variance) / 2,
    });
  for (const [ratio, prior] of RATIOS) {
    const independent = Number.isFinite(ratio) ? 1 : 0;
    const fit = fitPlateauDifferences(points, independent, independent ? ratio : 1);
    for (const log of steps(SCALES.from, SCALES.to, SCALES.step)) {
      const variance = (fit.squares / degrees) * Math.exp(log);
      if (independent * variance >= noise) add(fit, variance, prior * SCALES.step);
    }
  }
  if (noise > 0) for (const [ratio, prior] of KNOWN_RATIOS) add(fitPlateauDifferences(points, 1, ratio), noise, prior);
  const best = Math.max(...found.map(({ log }) => log));
  return found
    .map(({ log, ...one }) => ({ ...one, weight: Math.exp(log - best) }))
    .filter(({ weight }) => weight > 1e-7);
}

interface Fit {
  slope: number;
  logDeterminant: number;
  /** Inverse of the slope’s variance. */
  information: number;
  /** Sum of the squared residuals, as a multiple of the variance. */
  squares: number;
}

/**
 * Fits the differences between neighbouring points by generalized least squares. Differences have no intercept. Their
 * covariance is tridiagonal, so one pass factors it.
 * @param independent variance of each point
 * @param staying variance of a mean step
 */
export function fitPlateauDifferences(points: PlateauPoint[], independent: number, staying: number): Fit {
  const [xs, ys, besides] = (['x', 'y', 'beside'] as const).map((key) => differences(points, key)) as Columns;
  const lengths = stepLengths(points[0]?.beside === undefined ? [xs] : [xs, besides]);
  let [pivot, x, y, z, logDeterminant] = [Number.POSITIVE_INFINITY, 0, 0, 0, 0];
  let [xx, xy, yy, zz, xz, zy] = [0, 0, 0, 0, 0, 0];
  for (const [index, step] of xs.entries()) {
    // Memory changes over time even if no connection is added, so a step has a minimum length.
    const own = 2 * independent + staying * Math.max(lengths[index] as number, LEAST_STEP);
    const factor = independent / pivot;
    x = step + factor * x;
    y = (ys[index] as number) + factor * y;
    z = (besides[index] as number) + factor * z;
    pivot = own - factor * independent;
    logDeterminant += Math.log(pivot);
    xx += (x * x) / pivot;
    xy += (x * y) / pivot;
    yy += (y * y) / pivot;
    zz += (z * z) / pivot;
    xz += (x * z) / pivot;
    zy += (z * y) / pivot;
  }
  const total = yy;
  if (zz > 0) {
    const information = xx - (xz * xz) / zz;
    // Treats x and `beside` as proportional if they differ only by rounding.
    xx = information > 1e-9 * xx ? information : 0;
    xy -= (xz * zy) / zz;
    yy -= (zy * zy) / zz;
    logDeterminant += Math.log(zz);
  }
  const slope = xy / xx;
  // The minimum is the rounding error, for points that are exactly on a line.
  const squares = Math.max(yy - xy * slope, 1e-18 * total, Number.MIN_VALUE * 1e30);
  return { logDeterminant, information: xx, slope, squares };
}

type Columns = [xs: number[], ys: number[], besides: number[]];

/** Returns the length of each step between two plateaus, as a multiple of the mean length. */
function stepLengths(columns: number[][]): number[] {
  const [first = []] = columns;
  const means = columns.map((steps) => sum(steps.map(Math.abs)) / steps.length);
  return first.map(
    (_, index) =>
      sum(columns.map((steps, column) => Math.abs(steps[index] as number) / (means[column] as number))) /
      columns.length,
  );
}

function differences(points: PlateauPoint[], key: 'x' | 'y' | 'beside'): number[] {
  return points.slice(1).map((point, index) => (point[key] ?? 0) - (points[index]?.[key] ?? 0));
}

function quantileOf(share: number, below: (x: number) => number, low: number, high: number): number {
  for (let step = 0; step < 50; step++) {
    const middle = (low + high) / 2;
    if (below(middle) < share) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** Normal distribution function with seven correct digits (Abramowitz & Stegun 7.1.26). */
function normal(z: number): number {
  const t = 1 / (1 + (0.3275911 * Math.abs(z)) / Math.SQRT2);
  const polynomial = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  const tail = (polynomial * Math.exp((-z * z) / 2)) / 2;
  return z > 0 ? 1 - tail : tail;
}

function steps(from: number, to: number, by: number): number[] {
  return Array.from({ length: Math.round((to - from) / by) + 1 }, (_, index) => from + index * by);
}
