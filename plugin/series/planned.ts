/** A series whose runs are all known before the first: every combination of levels so many times, for `study` and `repeat`. */
import { createHash } from 'node:crypto';
import { worstExitCode } from '../../protocol/codes/exit-codes.ts';
import { endingOf } from '../../protocol/documents/series.ts';
import { type Levels, type Plan, type Study, studySchema } from '../../protocol/documents/study.ts';
import { combinationsOf, labelOf, type MeasuredRun, summarize } from '../../report/study/summarize.ts';
import type { RunCommand } from './run.ts';
import type { MadeRun, Next, Series } from './series.ts';

/** Which run of a plan: each block has every combination once. */
export interface Place {
  /** From 1. */
  block: number;
  levels: Levels;
}

export interface PlannedOptions extends Pick<Study, 'name' | 'title' | 'plan' | 'scenarioHash'> {
  kind: 'study' | 'repeat';
  folder: string;
  /** Whether a run that does not come to its end is the last one. */
  endsWithFailure: boolean;
  /** @throws CapacityError if it cannot be run */
  commandOf(levels: Levels): RunCommand;
  changesSince(earlier: Study): string[];
  pagesOf(document: Study, runs: MeasuredRun[]): Record<string, string>;
}

export type PlannedSeries = Series<Place, 'done', Study>;

/** What did not come to its end is tried once more by each start. */
export function plannedSeries(options: PlannedOptions): PlannedSeries {
  const { kind, folder, name, title, plan, scenarioHash, endsWithFailure } = options;
  const order = orderOf(plan);
  const next = (runs: MadeRun<Place>[], earlier: number): Next<Place, 'done'> => {
    const failed = runs.slice(earlier).some(({ run }) => endingOf(run.exitCode) !== 'measured');
    const done = runs.filter(({ run }, index) => index >= earlier || endingOf(run.exitCode) === 'measured');
    const open = order.filter((place) => !done.some(({ run }) => isAt(run, place)));
    const [key] = open;
    if (!key || (failed && endsWithFailure)) return { end: 'done' };
    const label = [labelOf(key.levels), `round ${key.block} of ${plan.repeat}`].filter(Boolean).join(', ');
    return { key, label, left: open.length };
  };
  return {
    kind,
    folder,
    schema: studySchema,
    next,
    changesSince: options.changesSince,
    commandOf: ({ levels }) => options.commandOf(levels),
    outcomeOf: ({ run }) => [run.problem ?? run.status ?? ''],
    documentOf: (startedAt, runs) => ({
      schemaVersion: 2,
      name,
      title,
      plan,
      scenarioHash,
      startedAt,
      planned: order.length,
      runs: runs.map(({ run }) => run),
      ...summarize(plan, measuredRuns(runs)),
    }),
    pagesOf: (document, runs) => options.pagesOf(document, measuredRuns(runs)),
  };
}

/** @returns with the results of those that came to their end */
export function measuredRuns(runs: MadeRun<Place>[]): MeasuredRun[] {
  return runs.map(({ run, result }) => ({
    levels: run.levels,
    exitCode: run.exitCode,
    result: endingOf(run.exitCode) === 'measured' ? result : undefined,
  }));
}

/** @returns the worst of the latest run of each place */
export function exitCodeOf(runs: Study['runs']): number {
  return worstExitCode(
    runs
      .filter((run, index) => !runs.slice(index + 1).some((later) => isAt(later, run)))
      .map(({ exitCode }) => exitCode),
  );
}

/**
 * A machine that drifts meets all combinations alike: each block has them all, in an order that is drawn for every other block,
 * and turned round in the one after it. The order follows from the plan, so a series that is resumed continues in it.
 */
export function orderOf(plan: Plan): Place[] {
  const { repeat, seed } = plan;
  const combinations = combinationsOf(plan);
  return Array.from({ length: repeat }, (_, index) => index).flatMap((index) => {
    const pair = Math.floor(index / 2);
    const drawn = combinations
      .map((levels) => ({ levels, lot: lotOf(`${seed}:${pair}:${labelOf(levels)}`) }))
      .sort((a, b) => (a.lot < b.lot ? -1 : 1))
      .map(({ levels }) => ({ block: index + 1, levels }));
    return index % 2 === 0 ? drawn : drawn.reverse();
  });
}

function isAt(place: Place, { block, levels }: Place): boolean {
  return place.block === block && labelOf(place.levels) === labelOf(levels);
}

/** As good as random, and the same for the same ticket. */
function lotOf(ticket: string): string {
  return createHash('sha256').update(ticket).digest('hex');
}
