/** A series whose runs are all known before the first: every combination of levels so many times, for `study` and `repeat`. */
import { hash } from 'node:crypto';
import { worstExitCode } from '../../protocol/codes/exit-codes.ts';
import { endingOf } from '../../protocol/documents/series.ts';
import { type Levels, type Plan, type Study, studySchema } from '../../protocol/documents/study.ts';
import { disturbanceOf } from '../../report/figures/others.ts';
import type { Document } from '../../report/model/document.ts';
import { countedRuns, isWorthRepeating } from '../../report/study/counted-runs.ts';
import { combinationsOf, labelOf, type MeasuredRun, summarize } from '../../report/study/summarize.ts';
import { counted } from '../../report/text/format.ts';
import { maskedPlan } from './masked-plan.ts';
import type { RunCommand } from './run.ts';
import type { MadeRun, Next, Series } from './series.ts';

/** Which run of a plan: each block has every combination once. */
interface Place {
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
  reportOf(document: Study, runs: MeasuredRun[]): Document;
  /** Whether the runs so far, which are whole blocks, tell enough. */
  isEnough?(runs: MeasuredRun[]): boolean;
}

export type PlannedSeries = Series<Place, 'done', Study>;

/** Runs of a place that came to their end: a machine that others always use would never be done. */
const MAX_ATTEMPTS = 2;

/** What did not come to its end is tried once more by each start, and what others disturbed is repeated at once. */
export function plannedSeries(options: PlannedOptions): PlannedSeries {
  const { kind, folder, name, title, scenarioHash, endsWithFailure } = options;
  const { shown: plan, realOf } = maskedPlan(options.plan);
  const order = orderOf(plan);
  const next = (runs: MadeRun<Place>[], earlier: number): Next<Place, 'done'> => {
    const failed = deciding(runs).some(
      (made) => endingOf(made.run.exitCode) !== 'measured' && runs.indexOf(made) >= earlier,
    );
    const done = runs.filter(({ run }, index) => index >= earlier || endingOf(run.exitCode) === 'measured');
    const open = order.filter((place) => !done.some(({ run }) => isAt(run, place)));
    const [disturbed] = runs.slice(-1).filter((latest) => isDisturbed(latest, runs));
    const isWhole = runs.length > 0 && open.length % (order.length / plan.repeat) === 0;
    const isDone = isWhole && !disturbed && options.isEnough?.(measuredRuns(runs));
    const key = disturbed ? { block: disturbed.run.block, levels: disturbed.run.levels } : open[0];
    if (!key || isDone || (failed && endsWithFailure)) return { end: 'done' };
    const round = `round ${key.block} of ${options.isEnough ? 'at most ' : ''}${plan.repeat}`;
    const label = [labelOf(key.levels), round, ...(disturbed ? ['again'] : [])].filter(Boolean).join(', ');
    return { key, label, left: options.isEnough ? undefined : open.length + (disturbed ? 1 : 0) };
  };
  return {
    kind,
    folder,
    schema: studySchema,
    next,
    // The first eight digits tell two texts apart.
    identityOf: (study) => ({ ...study.plan, 'the text of the scenario': study.scenarioHash.slice(0, 8) }),
    commandOf: ({ levels }) => options.commandOf(realOf(levels)),
    outcomeOf({ run, result }) {
      const disturbance = result && disturbanceOf(result);
      return [run.problem ?? run.status ?? '', ...(disturbance ? [disturbance.text] : [])];
    },
    documentOf: (startedAt, runs) => ({
      schemaVersion: 2,
      name,
      title,
      plan,
      scenarioHash,
      startedAt,
      planned: order.length,
      runs: runs.map((made) =>
        made.result && leftOut(runs).includes(made)
          ? { ...made.run, problem: `repeated: ${disturbanceOf(made.result)?.text}` }
          : made.run,
      ),
      ...summarize(plan, measuredRuns(runs)),
    }),
    reportOf: (document, runs) => {
      const report = options.reportOf(document, measuredRuns(runs));
      const { length } = leftOut(runs);
      if (length === 0) return report;
      const line = `Left out and made again: ${counted(length, 'run')} that others disturbed`;
      return { ...report, answer: { ...report.answer, lines: [...report.answer.lines, line] } };
    },
  };
}

/** @returns with the results of those that count */
export function measuredRuns(runs: MadeRun<Place>[]): MeasuredRun[] {
  return countedRuns(runs.map(placed)).map(({ run, levels, result }) => ({ levels, exitCode: run.exitCode, result }));
}

function isDisturbed(made: MadeRun<Place>, runs: MadeRun<Place>[]): boolean {
  const { result } = placed(made);
  const attempts = runs.filter((one) => isAt(one.run, made.run) && placed(one).result);
  return result !== undefined && isWorthRepeating(result) && attempts.length < MAX_ATTEMPTS;
}

/** With its result if it came to its end. */
function placed({ run, result }: MadeRun<Place>) {
  const { block, levels, exitCode } = run;
  return { run, block, levels, result: endingOf(exitCode) === 'measured' ? result : undefined };
}

/** @returns the worst of the runs that decide */
export function exitCodeOfRuns(runs: MadeRun<Place>[]): number {
  return worstExitCode(deciding(runs).map(({ run }) => run.exitCode));
}

/** @returns one of each place: that whose figures count; if no run came to its end, the latest */
function deciding(runs: MadeRun<Place>[]): MadeRun<Place>[] {
  const all = countedRuns(runs.map(placed));
  return runs.filter(({ run }, index) => {
    if (all[index]?.result) return true;
    return !all.some((one, at) => isAt(one, run) && (one.result || at > index));
  });
}

/** @returns those that came to their end, and were made again because others disturbed them more */
function leftOut(runs: MadeRun<Place>[]): MadeRun<Place>[] {
  const all = countedRuns(runs.map(placed));
  return runs.filter((made, index) => placed(made).result && !all[index]?.result);
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
    // By digests: as good as random, and the same for the same plan.
    const drawn = combinations
      .map((levels) => ({ levels, lot: hash('sha256', `${seed}:${pair}:${labelOf(levels)}`) }))
      .sort((a, b) => (a.lot < b.lot ? -1 : 1))
      .map(({ levels }) => ({ block: index + 1, levels }));
    return index % 2 === 0 ? drawn : drawn.reverse();
  });
}

function isAt(place: Place, { block, levels }: Place): boolean {
  return place.block === block && labelOf(place.levels) === labelOf(levels);
}
