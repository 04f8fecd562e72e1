/** How many of the intervals of repeated measurements contain the true value. */
import type { Comparison } from '../comparison.ts';

export interface Covering {
  low: number;
  high: number;
}

/** @returns undefined of an interval without ends: it covers nothing */
export function covering(interval: { low95: number | null; high95: number | null } | null | undefined) {
  const { low95 = null, high95 = null } = interval ?? {};
  return low95 === null || high95 === null ? undefined : { low: low95, high: high95 };
}

/** @returns a number of the standard normal distribution @param uniform of 0 to 1, without 0 */
export function normal(uniform = () => 1 - Math.random()): number {
  return Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
}

/** Required of intervals that claim 95 %, in percent of the repeats. */
const LEAST = 90;
const MOST = 99;
const CLAIMED = 95;
/** Intervals that cover `MOST` do so in a share of all series of repeats; if that is smaller, they cover more. */
const DOUBT = 0.05;

/** @param intervals of all repeats; a missing one covers nothing @param mayCoverMore where that is known, and why */
export function covers(
  what: string,
  truth: number,
  intervals: (Covering | null | undefined)[],
  { mayCoverMore = false } = {},
): Comparison {
  const covering = intervals.filter((one) => one && one.low <= truth && truth <= one.high).length;
  const percent = (100 * covering) / intervals.length;
  return {
    what: `${what}, ${intervals.length} repeats`,
    unit: '%',
    truth: CLAIMED,
    measured: percent,
    bound: mayCoverMore ? `at least ${LEAST} %` : `${LEAST} to ${MOST} %`,
    ok: percent >= LEAST && (mayCoverMore || atLeast(covering, intervals.length, MOST / 100) >= DOUBT),
  };
}

/** @returns how likely `least` or more of `count` intervals cover, if each does with `probability` */
function atLeast(least: number, count: number, probability: number): number {
  let term = probability ** count;
  let sum = 0;
  for (let covering = count; covering >= least; covering--) {
    sum += term;
    term *= (covering / (count - covering + 1)) * ((1 - probability) / probability);
  }
  return sum;
}
