/** Between which levels the answer is. */
import type { SearchRun } from '../../protocol/documents/search.ts';

/** What the answer follows from. */
export type Tried = Pick<SearchRun, 'level' | 'outcome' | 'blame'>;

export interface Bracket {
  /** Highest level that held, below all that broke. */
  held: number | undefined;
  /** Runs at that level. */
  heldRuns: number;
  /** Lowest level that broke, once or more often. */
  broke: number | undefined;
}

/** Where a level once breaks, it does not hold, and neither do those above, although one of them may have held by luck. */
export function bracket(runs: Tried[]): Bracket {
  const levels = (outcome: Tried['outcome']) => runs.filter((run) => run.outcome === outcome).map(({ level }) => level);
  const broke = levels('breaks').reduce<number | undefined>((low, level) => Math.min(low ?? level, level), undefined);
  const held = levels('holds')
    .filter((level) => broke === undefined || level < broke)
    .reduce<number | undefined>((high, level) => Math.max(high ?? level, level), undefined);
  return { held, heldRuns: levels('holds').filter((level) => level === held).length, broke };
}
