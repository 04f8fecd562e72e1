/** Finds the two levels between which the answer of a search lies. A level is a number of connections or a rate. */
import type { SearchRun } from '../../protocol/documents/search-schema.ts';

/** Fields of a search's run that determine the answer. */
export type TriedRun = Pick<SearchRun, 'level' | 'purpose' | 'outcome' | 'blame'>;

/** Number of runs at one level (number of connections or rate), by outcome. */
export interface LevelTally {
  level: number;
  held: number;
  broke: number;
}

interface Bracket {
  /** Highest level that held (number of connections or rate), below all levels that broke. */
  held: LevelTally | undefined;
  /** Lowest level (number of connections or rate) that broke. */
  broke: LevelTally | undefined;
  /** Level below `broke` whose outcome is undecided, so that it needs more runs. */
  open: LevelTally | undefined;
}

/**
 * Returns whether a level held or broke. It counts as broken if at least two of its runs, and more than half of them,
 * failed.
 * @returns undefined if the level is undecided
 */
export function levelOutcome({ held, broke }: LevelTally): 'held' | 'broke' | undefined {
  if (held > broke) return 'held';
  return broke > held && broke > 1 ? 'broke' : undefined;
}

/**
 * Counts the runs at each level (number of connections or rate), the lowest level first. Control runs repeat a level
 * that held before. A control run that broke is excluded, because the deployment had not recovered.
 */
export function tallyLevels(runs: TriedRun[]): LevelTally[] {
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

/**
 * Finds the two levels between which the answer of a search lies. Levels above a level that broke are ignored, even if
 * they held.
 */
export function findBracket(runs: TriedRun[]): Bracket {
  const tallies = tallyLevels(runs);
  const broke = tallies.find((tally) => levelOutcome(tally) === 'broke');
  const below = tallies.filter(({ level }) => broke === undefined || level < broke.level);
  return {
    held: below.findLast((tally) => levelOutcome(tally) === 'held'),
    broke,
    open: below.find((tally) => levelOutcome(tally) === undefined),
  };
}

/** Returns levels (numbers of connections or rates) that held in their first run and broke in most later runs. */
export function fadedLevels(runs: TriedRun[]): number[] {
  const faded = tallyLevels(runs).filter(({ held, broke }) => held > 0 && broke > held);
  const first = (level: number) => runs.find((run) => run.level === level);
  return faded.map(({ level }) => level).filter((level) => first(level)?.outcome === 'holds');
}
