/** Compares counted figures: runs without figures, and missing connections, copies and messages. */
import { mean } from '../statistics/statistics.ts';

/** A side of a comparison. */
export interface Runs {
  /** Number of runs with usable figures. */
  usable: number;
  /** Number of all runs. */
  made: number;
}

/**
 * Compares the shares of usable runs. A side is worse if its share is at most half of the other's. Fewer lost runs, or a single run, prove
 * nothing, because a disturbed machine can also spoil a run.
 * @returns the answer for `after` against `before`
 */
export function usableAnswer(before: Runs, after: Runs): 'better' | 'worse' | 'no-difference' | 'inconclusive' {
  const share = ({ usable, made }: Runs) => usable / made;
  const apart = share(after) - share(before);
  if (apart === 0) return 'no-difference';
  const [worse, answer] = apart < 0 ? ([after, 'worse'] as const) : ([before, 'better'] as const);
  return worse.made > 1 && Math.abs(apart) >= 1 / 2 ? answer : 'inconclusive';
}

/**
 * Ratio of two counts that chance exceeds in 2.5 % of cases on either side: the quantile of F with 2 and 2 degrees of freedom. Faults of
 * one event occur together, so a count varies by as much as its size (exponential distribution) until repeats show less.
 */
const RATIO_OF_SINGLE_RUNS = 39;

/**
 * Compares every run of one side with the allowance of the other: its highest count, plus the range of its runs, plus twice the square root
 * of that count. Single runs show no range, so one must have 39 times as many faults. If no run of the other side has a fault, one fault in
 * every run is sufficient.
 * @returns whether `b` has more, or `a`; null if they are not different enough
 */
export function separation(a: number[], b: number[]): 'worse' | 'better' | null {
  if (Math.min(...b) > allowance(a, b)) return 'worse';
  return Math.min(...a) > allowance(b, a) ? 'better' : null;
}

function allowance(faults: number[], others: number[]): number {
  const most = Math.max(...faults);
  if (faults.length + others.length === 2) return RATIO_OF_SINGLE_RUNS * most;
  // Assumes that a single run varies like the runs of the other side.
  const varying = faults.length === 1 && most > 0 ? others : faults;
  return most + (Math.max(...varying) - Math.min(...varying)) + 2 * Math.sqrt(most);
}

/** Returns whether `b` has more faults on average than `a`. */
export function hasMoreFaults(a: number[], b: number[]): boolean {
  return mean(b) > mean(a);
}

/** Returns whether only some of the runs have faults, so the next run can go either way. */
export function isFlaky(faults: number[]): boolean {
  return faults.some((count) => count > 0) && faults.includes(0);
}

/** Returns, for example, `in 1 of 5 runs`. */
export function faultyRuns(faults: number[]): string {
  return `in ${faults.filter((count) => count > 0).length} of ${faults.length} ${faults.length === 1 ? 'run' : 'runs'}`;
}
