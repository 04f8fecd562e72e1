/**
 * Estimates the difference of a measured figure between two sets of runs, and its noise. Also compares counts: unusable
 * runs, missing connections and missing copies.
 */
import type { Spread } from '../../protocol/documents/series-schema.ts';
import type { FigureDifference } from '../../protocol/documents/study-schema.ts';
import type { Result } from '../../protocol/result/result.ts';
import { type ComparableFigure, comparedValue, intervalAt, isCountFigure, valueAtKey } from '../figures/figures.ts';
import {
  differenceOfEstimates,
  differenceOfLevels,
  differenceOfMeans,
  type Estimate,
  type PooledNoise,
} from '../statistics/spread.ts';
import { mean } from '../statistics/statistics.ts';
import { isNarrowInterval } from '../statistics/straightness.ts';
import { studentT } from '../statistics/student.ts';

/** One side of a comparison: the usable runs of a set, with the mean and spread of a figure. */
export interface ComparedSide {
  runs: Result[];
  spread: Spread | null;
  /** Noise of the figure at each level (value of the varied setting) of this set, in a study. */
  levels: PooledNoise[];
}

export interface MeasuredDifference {
  estimate: Estimate;
  noise: Exclude<FigureDifference['noise'], 'none' | null>;
}

/** Returns the difference of a measured figure. Null for counts, for a missing value, and if the noise is unknown. */
export function measuredDifference(
  figure: ComparableFigure,
  a: ComparedSide,
  b: ComparedSide,
): MeasuredDifference | null {
  if (!a.spread || !b.spread || isCountFigure(figure)) return null;
  const hasLevels = a.levels.length > 0 && b.levels.length > 0;
  const ofLevels = hasLevels ? differenceOfLevels(a.spread, b.spread, a.levels, b.levels) : null;
  if (ofLevels) return withBias(figure, a, b, ofLevels.estimate, ofLevels.isPooled ? 'study' : 'repeats');
  const [inA, inB] = [a, b].map(({ runs }) => runEstimate(runs, figure));
  const { noise = 'fit' } = figure.declared;
  // The spread between repeated runs already includes the variation of latency between broadcasts.
  const means = differenceOfMeans(
    a.spread,
    b.spread,
    noise === 'fit' ? (a.spread.runs === 1 ? inA : inB)?.error : undefined,
  );
  if (means) return withBias(figure, a, b, means, 'repeats');
  return inA && inB ? { estimate: differenceOfEstimates(inA, inB), noise } : null;
}

/**
 * Adds the error of figures whose interval is too wide to quote, because of garbage, worker threads or native memory.
 * All runs of a set share this error, so the spread between runs does not show it.
 */
function withBias(
  figure: ComparableFigure,
  a: ComparedSide,
  b: ComparedSide,
  estimate: Estimate,
  noise: MeasuredDifference['noise'],
): MeasuredDifference {
  const errors = [a, b].flatMap(({ runs }) => widestError(runs, figure) ?? []);
  if (errors.length === 0) return { estimate, noise };
  const error = Math.hypot(estimate.error, ...errors.map((wide) => wide.error));
  const degrees = Math.min(estimate.degrees, ...errors.map((wide) => wide.degrees));
  return { estimate: { value: estimate.value, error, degrees }, noise: 'fit' };
}

/**
 * Returns the largest error among runs in which the interval of the figure is too wide to quote; undefined if every
 * interval is narrow enough.
 */
function widestError(runs: Result[], figure: ComparableFigure): Estimate | undefined {
  if (figure.declared.noise !== 'fit') return undefined;
  return runs
    .flatMap((run) => runEstimate([run], figure) ?? [])
    .filter(({ value, error, degrees }) => !isNarrowInterval(value, 2 * error * studentT(0.95, degrees)))
    .toSorted((one, other) => other.error - one.error)[0];
}

/**
 * Returns the figure of a single run with its standard error. For latencies, the error depends on the number of
 * broadcasts, because copies of one broadcast are late together. For a cost per connection, it depends on the number of
 * plateaus.
 */
function runEstimate(runs: Result[], figure: ComparableFigure): Estimate | null {
  const result = runs.find((run) => comparedValue(run, figure) !== null);
  if (!result) return null;
  const { path, declared } = figure;
  const interval = intervalAt(result, path);
  const readings = { broadcasts: result.latency.completionMs?.count ?? 0, fit: result.memory.plateaus.length - 1 };
  const degrees = declared.noise ? readings[declared.noise] - 1 : 0;
  if (interval === null || degrees < 1) return null;
  const { low95, high95 } = interval;
  const value = valueAtKey(result, path) as number;
  // Uses the wider half of the interval, because the lower half is cut if the interval would reach below zero.
  const reach = Math.max(high95 - value, value - low95);
  return { value, error: reach / studentT(0.95, degrees), degrees };
}

/** Number of runs of a set, usable and in total. */
export interface UsableRuns {
  /** Number of runs that have figures. */
  usable: number;
  /** Number of runs, with or without figures. */
  made: number;
}

/**
 * Compares the shares of usable runs. A set is worse if its share is at most half of the other set's share. A smaller
 * difference or a single lost run is inconclusive, because a disturbance of the machine can also make a run unusable.
 * @returns whether `after` is better or worse than `before`
 */
export function usableAnswer(
  before: UsableRuns,
  after: UsableRuns,
): 'better' | 'worse' | 'no-difference' | 'inconclusive' {
  const share = ({ usable, made }: UsableRuns) => usable / made;
  const apart = share(after) - share(before);
  if (apart === 0) return 'no-difference';
  const [worse, answer] = apart < 0 ? ([after, 'worse'] as const) : ([before, 'better'] as const);
  return worse.made > 1 && Math.abs(apart) >= 1 / 2 ? answer : 'inconclusive';
}

/**
 * Minimum ratio of the fault counts of two single runs that counts as a difference. Chance exceeds it in 2.5 % of cases
 * in each direction (F distribution with 2 and 2 degrees of freedom). Faults of one event occur together, so a count is
 * assumed to vary by its own size (exponential distribution).
 */
const RATIO_OF_SINGLE_RUNS = 39;

/**
 * Compares every run of one side with the allowance of the other side. The allowance is the highest number of faults,
 * plus the range of the numbers, plus twice the square root of the highest number. A single run has no range, so a
 * ratio of 39 is required for two single runs. If one side has no faults, one fault in every run of the other side is
 * sufficient.
 * @returns `worse` if `b` has more faults, `better` if `a` has more; null if neither side clearly has more
 */
export function separateFaults(a: number[], b: number[]): 'worse' | 'better' | null {
  if (Math.min(...b) > allowance(a, b)) return 'worse';
  return Math.min(...a) > allowance(b, a) ? 'better' : null;
}

function allowance(faults: number[], others: number[]): number {
  const most = Math.max(...faults);
  if (faults.length + others.length === 2) return RATIO_OF_SINGLE_RUNS * most;
  // A single run is assumed to vary like the runs of the other side.
  const varying = faults.length === 1 && most > 0 ? others : faults;
  return most + (Math.max(...varying) - Math.min(...varying)) + 2 * Math.sqrt(most);
}

/** Returns whether `b` has more faults on average than `a`. */
export function hasMoreFaults(a: number[], b: number[]): boolean {
  return mean(b) > mean(a);
}

/** Returns whether the fault is intermittent: some runs have it and some do not. */
export function isFlaky(faults: number[]): boolean {
  return faults.some((count) => count > 0) && faults.includes(0);
}
