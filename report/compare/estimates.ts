/** How far two sets of runs are apart in a measured figure, and where the noise of that difference is known from. */
import type { Spread } from '../../protocol/documents/series-schema.ts';
import type { Difference } from '../../protocol/documents/study-schema.ts';
import type { Result } from '../../protocol/result/result.ts';
import { type Figure, figureOf, intervalAt, isCounted, valueAt } from '../figures/figures.ts';
import { type Estimate, estimatesApart, levelsApart, meansApart, type PooledNoise } from '../statistics/spread.ts';
import { isNarrow } from '../statistics/straightness.ts';
import { studentT } from '../statistics/student.ts';

/** Usable runs of a set, with the spread of the figure over those that have it. */
export interface Side {
  runs: Result[];
  spread: Spread | null;
  /** The noise of the figure at each level of this set in a study. */
  levels: PooledNoise[];
}

export interface Apart {
  estimate: Estimate;
  noise: Exclude<Difference['noise'], 'none' | null>;
}

/** @returns null of counts, where one side has no value, and where nothing shows the noise */
export function apart(figure: Figure, a: Side, b: Side): Apart | null {
  if (!a.spread || !b.spread || isCounted(figure)) return null;
  const hasLevels = a.levels.length > 0 && b.levels.length > 0;
  const ofLevels = hasLevels ? levelsApart(a.spread, b.spread, a.levels, b.levels) : null;
  if (ofLevels) return withBias(figure, a, b, ofLevels.estimate, ofLevels.isPooled ? 'study' : 'repeats');
  const [inA, inB] = [a, b].map(({ runs }) => withinRun(runs, figure));
  const { noise = 'fit' } = figure.declared;
  // The spread of the other side's runs already includes how much broadcasts vary.
  const means = meansApart(a.spread, b.spread, noise === 'fit' ? (a.spread.runs === 1 ? inA : inB)?.error : undefined);
  if (means) return withBias(figure, a, b, means, 'repeats');
  return inA && inB ? { estimate: estimatesApart(inA, inB), noise } : null;
}

/**
 * Adds the error of intervals too wide to quote, such as those of garbage, worker threads or native memory. Every run of a side has
 * the same bias, which the deviation between its runs does not show.
 */
function withBias(figure: Figure, a: Side, b: Side, estimate: Estimate, noise: Apart['noise']): Apart {
  const errors = [a, b].flatMap(({ runs }) => widestError(runs, figure) ?? []);
  if (errors.length === 0) return { estimate, noise };
  const error = Math.hypot(estimate.error, ...errors.map((wide) => wide.error));
  const degrees = Math.min(estimate.degrees, ...errors.map((wide) => wide.degrees));
  return { estimate: { value: estimate.value, error, degrees }, noise: 'fit' };
}

/** @returns the largest error within a run whose interval is too wide to quote; undefined if all may be quoted */
function widestError(runs: Result[], figure: Figure): Estimate | undefined {
  if (figure.declared.noise !== 'fit') return undefined;
  return runs
    .flatMap((run) => withinRun([run], figure) ?? [])
    .filter(({ value, error, degrees }) => !isNarrow(value, 2 * error * studentT(0.95, degrees)))
    .toSorted((one, other) => other.error - one.error)[0];
}

/**
 * The figure of a single run with its standard error. The interval of a latency counts each broadcast once, because its copies are
 * late together. The interval of a cost per connection follows from the number of plateaus.
 */
function withinRun(runs: Result[], figure: Figure): Estimate | null {
  const result = runs.find((run) => figureOf(run, figure) !== null);
  if (!result) return null;
  const { path, declared } = figure;
  const interval = intervalAt(result, path);
  const readings = { broadcasts: result.latency.completionMs?.count ?? 0, fit: result.memory.plateaus.length - 1 };
  const degrees = declared.noise ? readings[declared.noise] - 1 : 0;
  if (interval === null || degrees < 1) return null;
  const { low95, high95 } = interval;
  const value = valueAt(result, path) as number;
  // The wider side: the interval of a cost that cannot be negative ends at zero.
  const reach = Math.max(high95 - value, value - low95);
  return { value, error: reach / studentT(0.95, degrees), degrees };
}
