/** Figures that are counted: runs that leave no figures, and connections, copies and messages that are missing. */
import { mean } from '../statistics/statistics.ts';

/** A side of a comparison. */
export interface Runs {
  /** That have figures to compare. */
  usable: number;
  /** That were made. */
  made: number;
}

/**
 * A side is worse if its share of usable runs is lower by half. Fewer prove nothing, since a machine can spoil a run, and neither does a
 * single run.
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
 * Faults of one event fall together, so a count varies by as much as itself (exponential distribution) until repeats show less. The
 * ratio of two such counts exceeds this in 2.5 % of cases on either side: the quantile of F with 2 and 2 degrees of freedom.
 */
const RATIO_OF_SINGLE_RUNS = 39;

/**
 * Compares every run of one side with what the other side allows for: its highest count, plus the range of the runs, plus twice the
 * square root of that count. Single runs on both sides show no range, so one must have 39 times as many faults. Where no run of
 * the other side has a fault, one in every run is enough.
 * @returns whether `b` has more, or `a`; null if neither is that far apart
 */
export function separation(a: number[], b: number[]): 'worse' | 'better' | null {
  if (Math.min(...b) > allowance(a, b)) return 'worse';
  return Math.min(...a) > allowance(b, a) ? 'better' : null;
}

function allowance(faults: number[], others: number[]): number {
  const most = Math.max(...faults);
  if (faults.length + others.length === 2) return RATIO_OF_SINGLE_RUNS * most;
  // A single run varies as the runs of the other side do.
  const varying = faults.length === 1 && most > 0 ? others : faults;
  return most + (Math.max(...varying) - Math.min(...varying)) + 2 * Math.sqrt(most);
}

/** @returns whether `b` has more faults on average than `a` */
export function hasMore(a: number[], b: number[]): boolean {
  return mean(b) > mean(a);
}

/** @returns whether only some of the runs have faults, so that the next run may have none, or the first */
export function isFlaky(faults: number[]): boolean {
  return faults.some((count) => count > 0) && faults.includes(0);
}

/** @returns `in 1 of 5 runs` */
export function faultyRuns(faults: number[]): string {
  return `in ${faults.filter((count) => count > 0).length} of ${faults.length} ${faults.length === 1 ? 'run' : 'runs'}`;
}
