/** The runs of a study: every combination of levels several times, in an order that is known before the first run. */
import { hash } from 'node:crypto';
import { EXIT_CODES, exitCodeOf, worstExitCode } from '../../protocol/codes/exit-codes.ts';
import { endingOf } from '../../protocol/documents/series-schema.ts';
import { type Levels, type Plan, type Study, studySchema } from '../../protocol/documents/study-schema.ts';
import type { Comparison } from '../../report/compare/compare.ts';
import { endOf } from '../../report/compare/decision.ts';
import { wouldSee } from '../../report/compare/detectable.ts';
import { disturbanceOf } from '../../report/figures/others.ts';
import { countedRuns, isWorthRepeating } from '../../report/study/counted-runs.ts';
import { studyDocument } from '../../report/study/study-page.ts';
import { combinationsOf, labelOf, type MeasuredRun, questionsOf, summarize } from '../../report/study/summarize.ts';
import { counted } from '../../report/text/format.ts';
import { maskedPlan } from './masked-plan.ts';
import type { MadeRun, Next, Series } from './series.ts';
import type { RunCommand } from './series-run.ts';

/** Which run of a plan: each block has every combination once. */
interface Place {
  /** From 1. */
  block: number;
  levels: Levels;
}

export interface StudyOptions extends Pick<Study, 'name' | 'title' | 'plan' | 'scenarioHash'> {
  folder: string;
  /** @throws CapacityError if it cannot be run */
  commandOf(levels: Levels): RunCommand;
}

export type StudySeries = Series<Place, 'done', Study>;

/** Measured runs of a place: on a machine that other programs always use, a study would never end. */
const MAX_ATTEMPTS = 2;

/** Each start repeats runs that failed in an earlier start. A run that other programs disturbed is repeated at once. */
export function studySeries(options: StudyOptions): StudySeries {
  const { folder, name, title, scenarioHash } = options;
  const { shown: plan, realOf } = maskedPlan(options.plan);
  const order = orderOf(plan);
  const combinations = order.length / plan.repeat;
  const next = (runs: MadeRun<Place>[], earlier: number): Next<Place, 'done'> => {
    const done = runs.filter((made, index) => index >= earlier || isMeasured(made));
    const open = order.filter((place) => !done.some(({ run }) => isAt(run, place)));
    const [disturbed] = runs.slice(-1).filter((latest) => isDisturbed(latest, runs));
    const isWhole = runs.length > 0 && open.length % combinations === 0 && !disturbed;
    const isUseless = runs.length > earlier && measuredInLatestBlock(runs) < Math.min(2, combinations);
    const key = disturbed ? { block: disturbed.run.block, levels: disturbed.run.levels } : open[0];
    if (!key || (isWhole && (isUseless || isEnough(plan, countedRuns(runs))))) return { end: 'done' };
    const isOpen = plan.detect !== undefined;
    const round = `round ${key.block} of ${isOpen ? 'at most ' : ''}${plan.repeat}`;
    const label = [labelOf(key.levels), round, ...(disturbed ? ['again'] : [])].filter(Boolean).join(', ');
    return { key, label, left: isOpen ? undefined : open.length + (disturbed ? 1 : 0) };
  };
  return {
    kind: 'study',
    folder,
    schema: studySchema,
    next,
    // More rounds continue the same runs. The first eight digits tell two texts apart.
    identityOf: ({ plan: { repeat: _repeat, detect: _detect, ...same }, scenarioHash: text }) => {
      return { ...same, 'the text of the scenario': text.slice(0, 8) };
    },
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
      ...summarize(plan, countedRuns(runs)),
    }),
    reportOf: (document, runs) => {
      const report = studyDocument(document, countedRuns(runs));
      const { length } = leftOut(runs);
      if (length === 0) return report;
      const line = `Left out and made again: ${counted(length, 'run')} that others disturbed`;
      return { ...report, answer: { ...report.answer, lines: [...report.answer.lines, line] } };
    },
  };
}

function isDisturbed(made: MadeRun<Place>, runs: MadeRun<Place>[]): boolean {
  const { result } = made;
  const attempts = runs.filter((one) => isAt(one.run, made.run) && isMeasured(one));
  return result !== undefined && isMeasured(made) && isWorthRepeating(result) && attempts.length < MAX_ATTEMPTS;
}

function isMeasured({ run }: MadeRun<Place>): boolean {
  return endingOf(run.exitCode) === 'measured';
}

/** Returns the exit code of the worst run, or if all runs are VALID, that of the comparisons: worse goes first. */
export function exitCodeOfStudy(plan: Plan, runs: MadeRun<Place>[]): number {
  const ofRuns = worstExitCode(deciding(runs).map(({ run }) => run.exitCode));
  if (ofRuns !== 0) return ofRuns;
  const codes = comparisonsOf(plan, countedRuns(runs)).map((comparison) => {
    const end = endOf(comparison);
    const isUnseen = plan.detect !== undefined && !seesAll(comparison, plan.detect);
    const isSame = 'answer' in end && end.answer === 'no-difference';
    return exitCodeOf(isSame && isUnseen ? { answer: 'inconclusive' } : end);
  });
  return codes.includes(EXIT_CODES.worse) ? EXIT_CODES.worse : Math.max(0, ...codes);
}

/** Whether runs in whole blocks suffice to see a change of the share that the plan asks for. */
function isEnough(plan: Plan, runs: MeasuredRun[]): boolean {
  const { detect } = plan;
  if (detect === undefined) return false;
  return comparisonsOf(plan, runs).every((comparison) => seesAll(comparison, detect));
}

/** Whether every level would show a change of that share. */
function seesAll(comparison: Comparison, detect: number): boolean {
  return comparison.sets.slice(1).every((_, index) => wouldSee(comparison, index + 1, detect));
}

function comparisonsOf(plan: Plan, runs: MeasuredRun[]): Comparison[] {
  return questionsOf(plan, runs).flatMap(({ contexts }) => contexts.map(({ comparison }) => comparison));
}

/** Returns how many combinations of the block of the latest run have a result. With fewer than two, nothing can be compared. */
function measuredInLatestBlock(runs: MadeRun<Place>[]): number {
  const block = runs.at(-1)?.run.block;
  const measured = runs.filter((made) => made.run.block === block && isMeasured(made));
  return new Set(measured.map(({ run }) => labelOf(run.levels))).size;
}

/** @returns one of each place: that whose figures count; if no run came to its end, the latest */
function deciding(runs: MadeRun<Place>[]): MadeRun<Place>[] {
  const all = countedRuns(runs);
  return runs.filter(({ run }, index) => {
    if (all[index]?.result) return true;
    return !runs.some((one, at) => isAt(one.run, run) && (all[at]?.result || at > index));
  });
}

/** @returns those that came to their end, and were made again because others disturbed them more */
function leftOut(runs: MadeRun<Place>[]): MadeRun<Place>[] {
  const all = countedRuns(runs);
  return runs.filter((made, index) => isMeasured(made) && !all[index]?.result);
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
    // Digests give an order that looks random, and is the same for the same plan.
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
