/** Levels between which the answer lies. */
import type { SearchRun } from '../../protocol/documents/search-schema.ts';

/** Parts of a run from which the answer follows. */
export type Tried = Pick<SearchRun, 'level' | 'purpose' | 'outcome' | 'blame'>;

/** Counts of the runs at one level. */
export interface Tally {
  level: number;
  held: number;
  broke: number;
}

interface Bracket {
  /** Highest level that held, below all that broke. */
  held: Tally | undefined;
  /** Lowest level that broke. */
  broke: Tally | undefined;
  /** Undecided level below `broke`. */
  open: Tally | undefined;
}

/** Decides a level. It counts as broken once two runs, and most runs, at it have failed. @returns undefined while it is undecided */
export function outcomeOf({ held, broke }: Tally): 'held' | 'broke' | undefined {
  if (held > broke) return 'held';
  return broke > held && broke > 1 ? 'broke' : undefined;
}

/** Counts the runs by level, the lowest first. Excludes controls that broke, because the deployment had not recovered. */
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

/** Ignores levels above a broken one, although some of them can hold. */
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

/** Returns levels that held in their first run and broke in most later ones. */
export function fadedLevels(runs: Tried[]): number[] {
  const faded = talliesOf(runs).filter(({ held, broke }) => held > 0 && broke > held);
  const first = (level: number) => runs.find((run) => run.level === level);
  return faded.map(({ level }) => level).filter((level) => first(level)?.outcome === 'holds');
}
