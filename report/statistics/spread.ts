/** The spread of a figure over several runs, and the difference between two groups of runs. */
import type { Spread } from '../../protocol/documents/series-schema.ts';
import { mean as meanOf, sum } from './statistics.ts';
import { studentP, studentT } from './student.ts';

/** A number with its error. */
export interface Estimate {
  value: number;
  /** Standard error of `value`. */
  error: number;
  /** Degrees of freedom of `error`. */
  degrees: number;
}

export interface Interval {
  low: number;
  high: number;
}

/** @returns null without values */
export function spreadOf(values: number[]): Spread | null {
  const runs = values.length;
  if (runs === 0) return null;
  const mean = meanOf(values);
  const known = { runs, mean, min: Math.min(...values), max: Math.max(...values) };
  if (runs === 1) return { ...known, deviation: null, low95: null, high95: null };
  const deviation = Math.sqrt(sum(values.map((value) => (value - mean) ** 2)) / (runs - 1));
  // For two runs, Student's interval is thirteen times their standard error, which says nothing.
  if (runs === 2) return { ...known, deviation, low95: null, high95: null };
  const halfWidth = studentT(0.95, runs - 1) * (deviation / Math.sqrt(runs));
  return { ...known, deviation, low95: mean - halfWidth, high95: mean + halfWidth };
}

/**
 * How far b's mean is above a's. With repeats on both sides: Welch, each with its own deviation. With repeats on only one
 * side, the single run is assumed to vary like the repeats, or by its own standard error if that is larger.
 * @param singleError standard error within the single run, such as that of its fitted line
 * @returns null when neither side has repeats
 */
export function meansApart(a: Spread, b: Spread, singleError = 0): Estimate | null {
  const value = b.mean - a.mean;
  if (a.deviation !== null && b.deviation !== null) return { value, ...welch(errorOf(a), errorOf(b)) };
  const deviation = a.deviation ?? b.deviation;
  if (deviation === null) return null;
  const repeats = Math.max(a.runs, b.runs);
  const error = Math.hypot(deviation / Math.sqrt(repeats), Math.max(deviation, singleError));
  return { value, error, degrees: repeats - 1 };
}

/** How much equal runs differ, as a share of their mean. */
export interface PooledNoise {
  share: number;
  degrees: number;
}

/**
 * The noise over several combinations: two runs of one say little. This assumes that a figure varies in proportion to its size.
 * @param spreads of one figure, one for each combination
 * @returns null where no combination has repeats
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

/** A combination with as many runs shows its own noise; the deviation of fewer may be small by chance. */
export const ENOUGH_RUNS = 4;

/**
 * How far b's mean is above a's, in a study. The variances of both sides may differ (Welch). A side with few runs has the noise of
 * the level that varies most, or its own where that is larger: runs at the same level are assumed to vary alike.
 * @param ofA noise at each level that a has
 * @returns null where the runs of a side show no noise
 */
export function levelsApart(
  a: Spread,
  b: Spread,
  ofA: PooledNoise[],
  ofB: PooledNoise[],
): { estimate: Estimate; isPooled: boolean } | null {
  const [noiseA, noiseB] = [largestNoise(a, ofA), largestNoise(b, ofB)];
  if (!noiseA || !noiseB) return null;
  const isPooled = noiseA.isPooled || noiseB.isPooled;
  const found = welch(noiseA, noiseB);
  // Both sides may share the runs of a level, so their degrees of freedom do not add up.
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

/** How far b is above a. */
export function estimatesApart(a: Estimate, b: Estimate): Estimate {
  return { value: b.value - a.value, ...welch(a, b) };
}

/** @param confidence 0 … 1 */
export function intervalOf({ value, error, degrees }: Estimate, confidence: number): Interval {
  const halfWidth = studentT(confidence, wholeDegrees(degrees)) * error;
  return { low: value - halfWidth, high: value + halfWidth };
}

/** @returns the probability of an estimate at least as far from zero, if there is no difference */
export function pValue({ value, error, degrees }: Estimate): number {
  return value === 0 ? 1 : studentP(Math.abs(value) / error, wholeDegrees(degrees));
}

/** Two-sided: 80 % of all estimates are above their mean less this many errors. */
const POWER = 0.6;

/**
 * @param threshold below which nothing is a difference
 * @returns the difference that four of five such comparisons would see, whatever this one saw
 */
export function detectableBy({ error, degrees }: Estimate, confidence: number, threshold: number): number {
  const whole = wholeDegrees(degrees);
  return Math.max(threshold, studentT(confidence, whole) * error) + studentT(POWER, whole) * error;
}

const MOST_RUNS = 1000;

/**
 * @param runs of the smaller side until now
 * @param size of a difference
 * @returns runs of each side, more than now, of which four of five comparisons would see a difference of that size, or find equal
 *   sides within it; null if they are more than 1,000
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

/** Fractions of a degree are dropped, which errs towards the wider interval, unless rounding made them. */
function wholeDegrees(degrees: number): number {
  return Math.max(1, Math.floor(degrees + 1e-9));
}

type Uncertainty = Omit<Estimate, 'value'>;

function errorOf({ deviation, runs }: Spread): Uncertainty {
  return { error: (deviation ?? 0) / Math.sqrt(runs), degrees: runs - 1 };
}

/** Uncertainty of a difference, with the degrees of freedom by Welch and Satterthwaite. */
function welch(a: Uncertainty, b: Uncertainty): Uncertainty {
  const variance = a.error ** 2 + b.error ** 2;
  const spent = a.error ** 4 / a.degrees + b.error ** 4 / b.degrees;
  return { error: Math.sqrt(variance), degrees: spent === 0 ? a.degrees + b.degrees : variance ** 2 / spent };
}
