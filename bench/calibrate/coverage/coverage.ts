/** How many of the intervals of repeated measurements contain the true value. */
import type { Comparison } from '../comparison.ts';

export interface Covering {
  low: number;
  high: number;
}

/** Required of intervals that claim 95 %, in percent of the repeats. */
const LEAST = 90;
const MOST = 99;
const CLAIMED = 95;

/** @param intervals of all repeats; a missing one covers nothing */
export function covers(what: string, truth: number, intervals: (Covering | null | undefined)[]): Comparison {
  const covering = intervals.filter((one) => one && one.low <= truth && truth <= one.high).length;
  const percent = (100 * covering) / intervals.length;
  return {
    what: `${what}, ${intervals.length} repeats`,
    unit: '%',
    truth: CLAIMED,
    measured: percent,
    bound: `${LEAST} to ${MOST} %`,
    ok: percent >= LEAST && percent <= MOST,
  };
}
