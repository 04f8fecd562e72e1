/** Between which levels the answer is. */
import type { SearchRun } from '../../protocol/documents/search-schema.ts';

/** What the answer follows from. */
export type Tried = Pick<SearchRun, 'level' | 'purpose' | 'outcome' | 'blame'>;

/** What runs at one level came to. */
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
  /** One below it of which the runs do not tell yet. */
  open: Tally | undefined;
}

/**
 * One run may be bad luck: a level breaks by two runs or more, and by most of them.
 * @returns undefined where its runs do not tell yet
 */
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

/** Where a level breaks, those above do not count, although some of them may hold. */
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
