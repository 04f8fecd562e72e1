/** Figures that are counted: runs that leave no figures, and connections, copies and messages that are missing. */
import type { Result } from '../../protocol/result/result.ts';
import type { CountedFigure } from '../figures/figures.ts';
import { mean } from '../statistics/statistics.ts';

type Counted = 'better' | 'worse' | 'no-difference';

/** One side of a comparison. */
export interface Runs {
  /** That have figures to compare. */
  usable: number;
  /** That were made. */
  made: number;
}

/**
 * One side is worse if it lacks figures of half of its runs more than the other. Fewer prove nothing, since a machine can spoil
 * a run, and neither does a single one.
 * @returns of `after` against `before`; null if nobody can tell
 */
export function usableAnswer(before: Runs, after: Runs): Counted | null {
  const share = ({ usable, made }: Runs) => usable / made;
  const apart = share(after) - share(before);
  if (apart === 0) return 'no-difference';
  const [worse, answer] = apart < 0 ? ([after, 'worse'] as const) : ([before, 'better'] as const);
  return worse.made > 1 && Math.abs(apart) >= 1 / 2 ? answer : null;
}

/**
 * One side is worse if it has more faults on average than the other's runs allow for: the most that one of them had, as
 * much again as they differ among themselves, and twice the square root of that most, by which counts vary anyway. Where
 * no run had a fault, the first one counts.
 * @returns of `after` against `before`; null if one side was not counted
 */
export function countedAnswer({ faults }: CountedFigure, before: Result[], after: Result[]): Counted | null {
  const [a, b] = [before, after].map((runs) => runs.flatMap((run) => faults(run) ?? [])) as [number[], number[]];
  if (a.length === 0 || b.length === 0) return null;
  if (mean(b) > allowance(a)) return 'worse';
  return mean(a) > allowance(b) ? 'better' : 'no-difference';
}

function allowance(faults: number[]): number {
  const most = Math.max(...faults);
  return most + (most - Math.min(...faults)) + 2 * Math.sqrt(most);
}
