/** The spread of a figure over several runs, and the difference between two groups of runs. */
import type { Spread } from '../../protocol/documents/repeat.ts';
import { mean as meanOf, sum } from './statistics.ts';
import { studentT } from './student.ts';

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
 * Two runs of a combination say little about its noise, but those of all combinations together do: this assumes that a
 * figure varies in proportion to its size.
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

/** How far b's mean is above a's, by the noise of all combinations, or by their own where that is larger. */
export function pooledApart(a: Spread, b: Spread, { share, degrees }: PooledNoise): Estimate {
  const errorOf = ({ runs, mean, deviation }: Spread) =>
    Math.max(deviation ?? 0, share * Math.abs(mean)) / Math.sqrt(runs);
  return { value: b.mean - a.mean, error: Math.hypot(errorOf(a), errorOf(b)), degrees };
}

/** How far b is above a. */
export function estimatesApart(a: Estimate, b: Estimate): Estimate {
  return { value: b.value - a.value, ...welch(a, b) };
}

/** @param confidence 0 … 1 */
export function intervalOf({ value, error, degrees }: Estimate, confidence: number): Interval {
  // Fractions of a degree are dropped, which errs towards the wider interval.
  const halfWidth = studentT(confidence, Math.max(1, Math.floor(degrees))) * error;
  return { low: value - halfWidth, high: value + halfWidth };
}

/** Two-sided: 80 % of all estimates are above their mean less this many errors. */
const POWER = 0.6;

/**
 * @param threshold below which nothing is a difference
 * @returns the difference that four of five such comparisons would see, whatever this one saw
 */
export function detectableBy({ error, degrees }: Estimate, confidence: number, threshold: number): number {
  const whole = Math.max(1, Math.floor(degrees));
  return Math.max(threshold, studentT(confidence, whole) * error) + studentT(POWER, whole) * error;
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
