/** Computes the share of intervals of repeated measurements that contain the true value. */
import type { TruthComparison } from '../comparison.ts';

export interface IntervalEnds {
  low: number;
  high: number;
}

/** Returns the interval; undefined if it has no ends. Such an interval contains no value. */
export function intervalFrom(interval: { low95: number | null; high95: number | null } | null | undefined) {
  const { low95 = null, high95 = null } = interval ?? {};
  return low95 === null || high95 === null ? undefined : { low: low95, high: high95 };
}

/**
 * Returns a random number of the standard normal distribution.
 * @param uniform random numbers from 0 (excluded) to 1
 */
export function randomNormal(uniform = () => 1 - Math.random()): number {
  return Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
}

/** Minimum coverage of 95 % intervals, in percent of the repeats. */
const MIN_PERCENT = 90;
const MAX_PERCENT = 99;
const NOMINAL_PERCENT = 95;
/** A coverage above `MAX_PERCENT` is accepted if its probability by chance is at least this. */
const MIN_PROBABILITY = 0.05;

/**
 * Checks the coverage.
 * @param intervals one interval per repeat; a missing interval contains no value
 * @param mayCoverMore whether intervals that are too wide are accepted
 */
export function compareCoverage(
  what: string,
  truth: number,
  intervals: (IntervalEnds | null | undefined)[],
  { mayCoverMore = false } = {},
): TruthComparison {
  const intervalFrom = intervals.filter(
    (interval) => interval && interval.low <= truth && truth <= interval.high,
  ).length;
  const percent = (100 * intervalFrom) / intervals.length;
  return {
    what: `${what}, ${intervals.length} repeats`,
    unit: '%',
    truth: NOMINAL_PERCENT,
    measured: percent,
    bound: mayCoverMore ? `at least ${MIN_PERCENT} %` : `${MIN_PERCENT} to ${MAX_PERCENT} %`,
    ok:
      percent >= MIN_PERCENT &&
      (mayCoverMore || atLeast(intervalFrom, intervals.length, MAX_PERCENT / 100) >= MIN_PROBABILITY),
  };
}

/**
 * Returns the probability that at least `least` of `count` intervals contain the true value, if each contains it with
 * `probability`.
 */
function atLeast(least: number, count: number, probability: number): number {
  let term = probability ** count;
  let sum = 0;
  for (let intervalFrom = count; intervalFrom >= least; intervalFrom--) {
    sum += term;
    term *= (intervalFrom / (count - intervalFrom + 1)) * ((1 - probability) / probability);
  }
  return sum;
}
