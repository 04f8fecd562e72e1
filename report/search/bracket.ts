/** Between which levels the answer is. */
import type { SearchRun } from '../../protocol/documents/search-schema.ts';

/** The levels from which the answer follows. */
export type Tried = Pick<SearchRun, 'level' | 'purpose' | 'outcome' | 'blame'>;

/** Results of the runs at one level. */
export interface Tally {
  level: number;
  held: number;
  broke: number;
}

export interface Bracket {
  /** The highest level that held, below all that broke. */
  held: Tally | undefined;
  /** The lowest one that broke. */
  broke: Tally | undefined;
  /** A lower level that is undecided. */
  open: Tally | undefined;
}

/** A level counts as broken once two runs, and most runs, at it have failed. @returns undefined while it is undecided */
export function outcomeOf({ held, broke }: Tally): 'held' | 'broke' | undefined {
  if (held > broke) return 'held';
  return broke > held && broke > 1 ? 'broke' : undefined;
}

/** @returns by level, the lowest first; a control that broke shows that the deployment had not recovered, and no more */
export function talliesOf(runs: Tried[]): Tally[] {
  const counted = runs.filter(
    ({ outcome, purpose }) => outcome === 'holds' || (outcome === 'breaks' && purpose !== 'control'),
  );
  return [...Map.groupBy(counted, ({ level }) => level)]
    .map(([level, all]) => {
      const held = all.filter(({ outcome }) => outcome === 'holds').length;
      return { level, held, broke: all.length - held };
    })
    .sort((a, b) => a.level - b.level);
}

/** Levels above a broken one do not count, although some of them may hold. */
export function bracket(runs: Tried[]): Bracket {
  const tallies = talliesOf(runs);
  const broke = tallies.find((tally) => outcomeOf(tally) === 'broke');
  const below = tallies.filter(({ level }) => broke === undefined || level < broke.level);
  return {
    held: below.findLast((tally) => outcomeOf(tally) === 'held'),
    broke,
    open: below.find((tally) => outcomeOf(tally) === undefined),
  };
}

/** @returns levels that held when they were asked first, and broke more often later */
export function fadedLevels(runs: Tried[]): number[] {
  const faded = talliesOf(runs).filter(({ held, broke }) => held > 0 && broke > held);
  const first = (level: number) => runs.find((run) => run.level === level);
  return faded.map(({ level }) => level).filter((level) => first(level)?.outcome === 'holds');
}
