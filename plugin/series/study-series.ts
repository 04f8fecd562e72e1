/**
 * Makes the runs of a study: every combination of levels (values of the varied settings), several times, in a fixed
 * order.
 */
import { hash } from 'node:crypto';
import { maskArguments } from '../../protocol/base/secrets/command-line.ts';
import { hasSecretChildren, isSecretName, maskText, SECRET_MASK } from '../../protocol/base/secrets/secret-text.ts';
import { EXIT_CODES, exitCodeOfOutcome, worstExitCode } from '../../protocol/codes/exit-codes.ts';
import { runEndingOf } from '../../protocol/documents/series-schema.ts';
import {
  type LevelCombination,
  type Study,
  type StudyLevel,
  type StudyPlan,
  studySchema,
} from '../../protocol/documents/study-schema.ts';
import type { Comparison } from '../../report/compare/compare.ts';
import { comparisonOutcome } from '../../report/compare/comparison-outcome.ts';
import { detectsShare } from '../../report/compare/detectable.ts';
import { distortingContention } from '../../report/figures/contention.ts';
import { countedRuns, isWorthRepeating } from '../../report/study/counted-runs.ts';
import { studyDocument } from '../../report/study/study-page.ts';
import {
  combinationLabel,
  levelCombinations,
  type StudyRun,
  studyQuestions,
  summarizeStudy,
} from '../../report/study/summarize.ts';
import { countText } from '../../report/text/format.ts';
import type { NextRun, SeriesDefinition, StartedRun } from './series.ts';
import type { RunCommand } from './series-run.ts';

/** A planned run. Runs are planned in blocks; each block contains every combination of levels once. */
interface PlannedRun {
  /** Number of the block to which the run belongs, from 1. */
  block: number;
  levels: LevelCombination;
}

interface StudyOptions extends Pick<Study, 'name' | 'title' | 'plan' | 'scenarioHash'> {
  folder: string;
  /**
   * Returns the command for a run with these levels.
   * @throws CapacityError if a run with these levels is impossible
   */
  commandOf(levels: LevelCombination): RunCommand;
}

export type StudySeries = SeriesDefinition<PlannedRun, 'done', Study>;

/**
 * Maximum ratio between made runs and planned runs. Other programs may disturb a machine all the time, so repetitions
 * must be limited.
 */
const MAX_ATTEMPTS = 2;

/**
 * Returns the series for a study. It repeats runs that failed in an earlier call of the command, and repeats disturbed
 * runs at once.
 */
export function studySeries(options: StudyOptions): StudySeries {
  const { folder, name, title, scenarioHash } = options;
  const { shown: plan, realOf } = maskStudyPlan(options.plan);
  const order = plannedRunsInOrder(plan);
  const combinations = order.length / plan.repeat;
  const next = (runs: StartedRun<PlannedRun>[], earlier: number): NextRun<PlannedRun, 'done'> => {
    const done = runs.filter((made, index) => index >= earlier || isMeasured(made));
    const open = order.filter((planned) => !done.some(({ run }) => isSame(run, planned)));
    const [disturbed] = runs.slice(-1).filter((latest) => isDisturbed(latest, runs));
    const isBlockComplete = runs.length > 0 && open.length % combinations === 0 && !disturbed;
    const isUseless = runs.length > earlier && measuredInLatestBlock(runs) < Math.min(2, combinations);
    const key = disturbed ? { block: disturbed.run.block, levels: disturbed.run.levels } : open[0];
    if (!key || (isBlockComplete && (isUseless || isEnough(plan, countedRuns(runs))))) return { end: 'done' };
    const isOpen = plan.detect !== undefined;
    const round = `round ${key.block} of ${isOpen ? 'at most ' : ''}${plan.repeat}`;
    const label = [combinationLabel(key.levels), round, ...(disturbed ? ['again'] : [])].filter(Boolean).join(', ');
    return { key, label, left: isOpen ? undefined : open.length + (disturbed ? 1 : 0) };
  };
  return {
    kind: 'study',
    folder,
    schema: studySchema,
    next,
    // `repeat` and `detect` are not part of the hash, so that a study can be continued with more blocks.
    identityOf: ({ plan: { repeat: _repeat, detect: _detect, ...same }, scenarioHash: text }) => {
      return { ...same, 'the text of the scenario': text.slice(0, 8) };
    },
    commandOf: ({ levels }) => options.commandOf(realOf(levels)),
    outcomeOf({ run, result }) {
      const disturbance = result && distortingContention(result);
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
        made.result && excludedRuns(runs).includes(made)
          ? { ...made.run, problem: `repeated: ${distortingContention(made.result)?.text}` }
          : made.run,
      ),
      ...summarizeStudy(plan, countedRuns(runs)),
    }),
    reportOf: (document, runs) => {
      const report = studyDocument(document, countedRuns(runs));
      const { length } = excludedRuns(runs);
      if (length === 0) return report;
      const line = `Excluded and repeated: ${countText(length, 'run')} that other programs disturbed`;
      return { ...report, answer: { ...report.answer, lines: [...report.answer.lines, line] } };
    },
  };
}

function isDisturbed(made: StartedRun<PlannedRun>, runs: StartedRun<PlannedRun>[]): boolean {
  const { result } = made;
  const attempts = runs.filter((attempt) => isSame(attempt.run, made.run) && isMeasured(attempt));
  return result !== undefined && isMeasured(made) && isWorthRepeating(result) && attempts.length < MAX_ATTEMPTS;
}

function isMeasured({ run }: StartedRun<PlannedRun>): boolean {
  return runEndingOf(run.exitCode) === 'measured';
}

/**
 * Returns the exit code of the worst run. If all runs are VALID, returns the exit code for the comparisons; `worse`
 * takes precedence.
 */
export function exitCodeOfStudy(plan: StudyPlan, runs: StartedRun<PlannedRun>[]): number {
  const worstRun = worstExitCode(decidingRuns(runs).map(({ run }) => run.exitCode));
  if (worstRun !== 0) return worstRun;
  const codes = comparisonsOf(plan, countedRuns(runs)).map((comparison) => {
    const end = comparisonOutcome(comparison);
    const isTooCoarse = plan.detect !== undefined && !wouldDetect(comparison, plan.detect);
    const isNoDifference = 'answer' in end && end.answer === 'no-difference';
    return exitCodeOfOutcome(isNoDifference && isTooCoarse ? { answer: 'inconclusive' } : end);
  });
  return codes.includes(EXIT_CODES.worse) ? EXIT_CODES.worse : Math.max(0, ...codes);
}

/** Returns whether the runs are enough to detect a change as small as `plan.detect`. */
function isEnough(plan: StudyPlan, runs: StudyRun[]): boolean {
  const { detect } = plan;
  if (detect === undefined) return false;
  return comparisonsOf(plan, runs).every((comparison) => wouldDetect(comparison, detect));
}

/**
 * Returns whether the study would detect a change by the share `detect` at every level (value of the varied setting).
 */
function wouldDetect(comparison: Comparison, detect: number): boolean {
  return comparison.sets.slice(1).every((_, index) => detectsShare(comparison, index + 1, detect));
}

function comparisonsOf(plan: StudyPlan, runs: StudyRun[]): Comparison[] {
  return studyQuestions(plan, runs).flatMap(({ contexts }) => contexts.map(({ comparison }) => comparison));
}

/**
 * Returns how many combinations were measured in the block of the latest run. With fewer than two, nothing can be
 * compared.
 */
function measuredInLatestBlock(runs: StartedRun<PlannedRun>[]): number {
  const block = runs.at(-1)?.run.block;
  const measured = runs.filter((made) => made.run.block === block && isMeasured(made));
  return new Set(measured.map(({ run }) => combinationLabel(run.levels))).size;
}

/**
 * Returns the runs that determine the exit code: for each planned run, the measured attempts that count; if there are
 * none, the latest attempt.
 */
function decidingRuns(runs: StartedRun<PlannedRun>[]): StartedRun<PlannedRun>[] {
  const all = countedRuns(runs);
  return runs.filter(({ run }, index) => {
    if (all[index]?.result) return true;
    return !runs.some((attempt, at) => isSame(attempt.run, run) && (all[at]?.result || at > index));
  });
}

/** Returns measured runs that do not count because a less disturbed repetition replaces them. */
function excludedRuns(runs: StartedRun<PlannedRun>[]): StartedRun<PlannedRun>[] {
  const all = countedRuns(runs);
  return runs.filter((made, index) => isMeasured(made) && !all[index]?.result);
}

/**
 * Returns the planned runs in the order in which they are made. Each block contains all combinations: odd blocks in
 * random order, even blocks in the reverse order of the previous block, so that a drift of the machine affects all
 * combinations equally. The order depends on the plan alone, so a resumed series continues with it.
 */
export function plannedRunsInOrder(plan: StudyPlan): PlannedRun[] {
  const { repeat, seed } = plan;
  const combinations = levelCombinations(plan);
  return Array.from({ length: repeat }, (_, index) => index).flatMap((index) => {
    const pair = Math.floor(index / 2);
    // Sorting by hashes gives a pseudo-random order, which is the same each time for the same plan.
    const shuffled = combinations
      .map((levels) => ({ levels, digest: hash('sha256', `${seed}:${pair}:${combinationLabel(levels)}`) }))
      .sort((a, b) => (a.digest < b.digest ? -1 : 1))
      .map(({ levels }) => ({ block: index + 1, levels }));
    return index % 2 === 0 ? shuffled : shuffled.reverse();
  });
}

function isSame(a: PlannedRun, b: PlannedRun): boolean {
  return a.block === b.block && combinationLabel(a.levels) === combinationLabel(b.levels);
}

/** A plan in which credentials are masked before the plan is written: in levels, arguments and server commands. */
interface MaskedPlan {
  /** The plan with masked credentials. If two levels look the same after masking, they are numbered. */
  shown: StudyPlan;
  /** Returns the real levels for levels of the masked plan. */
  realOf(levels: LevelCombination): LevelCombination;
}

export function maskStudyPlan(plan: StudyPlan): MaskedPlan {
  const vary = Object.fromEntries(
    Object.entries(plan.vary).map(([name, levels]) => [name, maskedLevels(name, levels)]),
  );
  const translate = (from: StudyPlan['vary'], to: StudyPlan['vary'], levels: LevelCombination): LevelCombination =>
    Object.fromEntries(
      Object.entries(levels).map(([name, level]) => [name, to[name]?.[from[name]?.indexOf(level) ?? -1] ?? level]),
    );
  return {
    shown: {
      ...plan,
      vary,
      ...(plan.args && { args: maskArguments(plan.args) }),
      except: plan.except.map((levels) => translate(plan.vary, vary, levels)),
      servers: Object.fromEntries(
        Object.entries(plan.servers).map(([name, { command, ready, env }]) => [
          name,
          {
            command: maskArguments(command),
            ready: typeof ready === 'string' ? maskText(ready) : ready,
            ...(env && {
              env: Object.fromEntries(
                Object.entries(env).map(([key, value]) => [key, String(maskedLevel(key, value))]),
              ),
            }),
          },
        ]),
      ),
    },
    realOf: (levels) => translate(vary, plan.vary, levels),
  };
}

function maskedLevels(name: string, levels: StudyLevel[]): StudyLevel[] {
  const masked = levels.map((level) => maskedLevel(name, level));
  const isNumbered = new Set(masked.map(String)).size < masked.length;
  return masked.map((level, index) => (isNumbered && level !== levels[index] ? `${level} ${index + 1}` : level));
}

function maskedLevel(name: string, level: StudyLevel): StudyLevel {
  if (typeof level === 'boolean') return level;
  const keys = name.split('.');
  const isSecret = keys.length === 1 ? isSecretName(name) : keys.some(hasSecretChildren);
  return isSecret ? SECRET_MASK : typeof level === 'string' ? maskText(level) : level;
}
