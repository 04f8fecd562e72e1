/** The spread of a figure over several runs, and the difference between two groups of runs. */
import type { Spread } from '../../protocol/documents/series-schema.ts';
import { mean as meanOf, sum } from './statistics.ts';
import { studentP, studentT } from './student.ts';

/** A number with its standard error. */
export interface Estimate {
  value: number;
  /** Standard error of `value`. */
  error: number;
  /** Degrees of freedom of `error`. */
  degrees: number;
}

export interface EstimateInterval {
  low: number;
  high: number;
}

/** Returns the spread of several values; null without values. */
export function spreadOf(values: number[]): Spread | null {
  const runs = values.length;
  if (runs === 0) return null;
  const mean = meanOf(values);
  const known = { runs, mean, min: Math.min(...values), max: Math.max(...values) };
  if (runs === 1) return { ...known, deviation: null, low95: null, high95: null };
  const deviation = Math.sqrt(sum(values.map((value) => (value - mean) ** 2)) / (runs - 1));
  // The 95 % interval of two runs by Student's t is 13 standard errors wide on each side, which is useless.
  if (runs === 2) return { ...known, deviation, low95: null, high95: null };
  const halfWidth = studentT(0.95, runs - 1) * (deviation / Math.sqrt(runs));
  return { ...known, deviation, low95: mean - halfWidth, high95: mean + halfWidth };
}

/**
 * Returns the difference between the mean of b and the mean of a. If both sides have repeated runs, each has its own
 * deviation (Welch). If only one side has repeated runs, the single run is assumed to have the same deviation, or its
 * own standard error if that is larger.
 * @param singleError standard error within the single run, such as the error of its fitted line
 * @returns null if neither side has repeated runs
 */
export function differenceOfMeans(a: Spread, b: Spread, singleError = 0): Estimate | null {
  const value = b.mean - a.mean;
  if (a.deviation !== null && b.deviation !== null) return { value, ...welch(errorOf(a), errorOf(b)) };
  const deviation = a.deviation ?? b.deviation;
  if (deviation === null) return null;
  const repeats = Math.max(a.runs, b.runs);
  const error = Math.hypot(deviation / Math.sqrt(repeats), Math.max(deviation, singleError));
  return { value, error, degrees: repeats - 1 };
}

/** Noise of a figure between repeated runs, as a share of their mean. */
export interface PooledNoise {
  share: number;
  degrees: number;
}

/**
 * Pools the noise of several combinations of levels (values of settings), because two runs of one combination show
 * little. Assumes that noise is proportional to the figure.
 * @param spreads spread of a figure in each combination
 * @returns null if no combination has repeated runs
 */
export function pooledNoise(spreads: Spread[]): PooledNoise | null {
  let squares = 0;
  let degrees = 0;
  for (const { runs, mean, deviation } of spreads) {
    if (deviation === null || mean === 0) continue;
    squares += (runs - 1) * (deviation / mean) ** 2;
    degrees += runs - 1;
  }
  return degrees === 0 ? null : { share: Math.sqrt(squares / degrees), degrees };
}

/**
 * Minimum number of runs for using a combination's own deviation. The deviation of fewer runs can be small by chance.
 */
const ENOUGH_RUNS = 4;

/**
 * Returns the difference between the mean of b and the mean of a in a study. Each side has its own variance (Welch).
 * For a side with few runs, the noise of its noisiest level (value of a setting) is used, or its own noise if that is
 * larger. Runs at the same level are assumed to vary equally.
 * @param ofA noise at each level of a
 * @returns null if the noise of a side is unknown
 */
export function differenceOfLevels(
  a: Spread,
  b: Spread,
  ofA: PooledNoise[],
  ofB: PooledNoise[],
): { estimate: Estimate; isPooled: boolean } | null {
  const [noiseA, noiseB] = [largestNoise(a, ofA), largestNoise(b, ofB)];
  if (!noiseA || !noiseB) return null;
  const isPooled = noiseA.isPooled || noiseB.isPooled;
  const found = welch(noiseA, noiseB);
  // Both sides can use the same runs for the noise of a level, so their degrees of freedom do not add up.
  const degrees = isPooled ? Math.min(found.degrees, Math.max(noiseA.degrees, noiseB.degrees)) : found.degrees;
  return { estimate: { value: b.mean - a.mean, error: found.error, degrees }, isPooled };
}

function largestNoise(spread: Spread, levels: PooledNoise[]): (Uncertainty & { isPooled: boolean }) | undefined {
  const { runs, mean, deviation } = spread;
  const isPooled = runs < ENOUGH_RUNS && levels.length > 0;
  const own = deviation === null ? [] : [{ ...errorOf(spread), isPooled }];
  if (!isPooled) return own[0];
  const pooled = levels.map(({ share, degrees }) => {
    return { error: (share * Math.abs(mean)) / Math.sqrt(runs), degrees, isPooled };
  });
  return [...own, ...pooled].toSorted((one, other) => other.error - one.error)[0];
}

/** Returns the difference between b and a with its error. */
export function differenceOfEstimates(a: Estimate, b: Estimate): Estimate {
  return { value: b.value - a.value, ...welch(a, b) };
}

/** @param confidence probability of the interval, 0 to 1 */
export function confidenceInterval({ value, error, degrees }: Estimate, confidence: number): EstimateInterval {
  const halfWidth = studentT(confidence, wholeDegrees(degrees)) * error;
  return { low: value - halfWidth, high: value + halfWidth };
}

/** Returns the two-sided p-value for the hypothesis that the estimated number is 0. */
export function twoSidedPValue({ value, error, degrees }: Estimate): number {
  return value === 0 ? 1 : studentP(Math.abs(value) / error, wholeDegrees(degrees));
}

/** Two-sided confidence. Its quantile, added to the threshold, gives a statistical power of 80 %. */
const POWER = 0.6;

/**
 * Returns the difference that 80 % of such comparisons would detect.
 * @param threshold smallest difference that counts
 */
export function detectableDifference({ error, degrees }: Estimate, confidence: number, threshold: number): number {
  const whole = wholeDegrees(degrees);
  return Math.max(threshold, studentT(confidence, whole) * error) + studentT(POWER, whole) * error;
}

const MOST_RUNS = 1000;

/**
 * Returns the number of runs per side, above the present number, with which 80 % of comparisons would detect a
 * difference of this size or confirm equality within it. Null above 1,000.
 * @param runs present number of runs on the smaller side
 * @param size size of the difference
 */
export function runsNeeded({ error }: Estimate, runs: number, confidence: number, size: number): number | null {
  const suffice = (count: number) => {
    const degrees = 2 * (count - 1);
    const sees = studentT(confidence, degrees) + studentT(POWER, degrees);
    const equals = studentT(0.95, degrees) + studentT(0.8, degrees);
    return Math.max(sees, equals) * error * Math.sqrt(runs / count) <= size;
  };
  if (!suffice(MOST_RUNS)) return null;
  let [low, high] = [runs, MOST_RUNS];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (suffice(middle)) high = middle;
    else low = middle;
  }
  return high;
}

/** Rounds degrees of freedom down, which widens the interval. A tiny tolerance ignores rounding errors. */
function wholeDegrees(degrees: number): number {
  return Math.max(1, Math.floor(degrees + 1e-9));
}

type Uncertainty = Omit<Estimate, 'value'>;

function errorOf({ deviation, runs }: Spread): Uncertainty {
  return { error: (deviation ?? 0) / Math.sqrt(runs), degrees: runs - 1 };
}

/** Returns the standard error of a difference, with degrees of freedom by Welch and Satterthwaite. */
function welch(a: Uncertainty, b: Uncertainty): Uncertainty {
  const variance = a.error ** 2 + b.error ** 2;
  const spent = a.error ** 4 / a.degrees + b.error ** 4 / b.degrees;
  return { error: Math.sqrt(variance), degrees: spent === 0 ? a.degrees + b.degrees : variance ** 2 / spent };
}
