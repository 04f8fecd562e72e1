/** What a study prints while it runs, and at its end. */
import { join } from 'node:path';
import type { Study, StudyRun } from '../../../protocol/documents/study.ts';
import { type CapacityError, describeError } from '../../../protocol/errors.ts';
import { labelOf, type MeasuredRun, questionsOf } from '../../../report/study/summarize.ts';
import {
  answersOf,
  doubtsOf,
  holesOf,
  progressText,
  titleOfQuestion,
  titleOfStudy,
} from '../../../report/study/text.ts';
import { durationText } from '../../../report/text/format.ts';
import { wasMeasured } from '../runs/child-run.ts';
import type { PlannedRun } from './order.ts';
import { STUDY } from './resume.ts';

/** @param unmet what is missing for a combination, by its label */
export function begun(study: Study, unmet: Map<string, CapacityError>): string {
  const holes = [...unmet].map(([label, error]) => `Missing: ${label}: no figures. ${describeError(error).trim()}`);
  return [titleOfStudy(study), ...holes, `${study.plan.scenario}: ${progressText(study)}`].join('\n');
}

/** @param before the study without this run */
export function running({ number, block, levels }: PlannedRun, { planned, plan, runs }: Study): string {
  const where = `Run ${number} of ${planned} (block ${block} of ${plan.repeat}): ${labelOf(levels)}`;
  const left = secondsLeft(number, runs, planned);
  return left === undefined ? where : `${where}; about ${durationText(left)} left`;
}

export function ended({ status, seconds, problem }: StudyRun): string {
  return `  ${problem ?? status} after ${durationText(seconds)}`;
}

/** @param runs in the order of `study.runs` */
export function outcome(study: Study, runs: MeasuredRun[], folder: string): string {
  const questions = questionsOf(study.plan, runs);
  const lists: [string, string[]][] = [
    ...questions.map((question): [string, string[]] => [titleOfQuestion(question), answersOf(question)]),
    ['Missing', holesOf(study)],
    ['Doubts', doubtsOf(runs, questions)],
  ];
  return [
    '',
    ...lists.flatMap(([title, lines]) => (lines.length === 0 ? [] : [title, ...lines.map((line) => `  ${line}`), ''])),
    `Study: ${join(folder, STUDY)}, and beside it study.md, study.html, runs/ and the output of each run in logs/`,
  ].join('\n');
}

/**
 * @param number of the run that is about to start
 * @returns by the mean of the runs that came to their end; undefined before the first
 */
export function secondsLeft(number: number, runs: StudyRun[], planned: number): number | undefined {
  const whole = runs.filter(({ exitCode }) => wasMeasured(exitCode));
  if (whole.length === 0) return undefined;
  const mean = whole.reduce((sum, { seconds }) => sum + seconds, 0) / whole.length;
  const doneLater = whole.filter((run) => run.number > number).length;
  return mean * (planned - number + 1 - doneLater);
}
