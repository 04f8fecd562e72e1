/** What a study prints before its first run, and after its last one. */
import { join } from 'node:path';
import type { Study } from '../../../protocol/documents/study.ts';
import { type CapacityError, describeError } from '../../../protocol/errors.ts';
import { type MeasuredRun, questionsOf } from '../../../report/study/summarize.ts';
import { answersOf, doubtsOf, holesOf, titleOfQuestion } from '../../../report/study/text.ts';
import type { StudyFile } from './study-file.ts';

/** @param unmet what is missing for a combination, by its label */
export function beginningOf({ name, title, plan }: StudyFile, unmet: Map<string, CapacityError>): string {
  const holes = [...unmet].map(([label, error]) => `Missing: ${label}: no figures. ${describeError(error)}`);
  return [title || name, plan.scenario, ...holes].join('\n');
}

/** @param runs in the order of `study.runs` */
export function endingOf(study: Study, runs: MeasuredRun[], folder: string): string {
  const questions = questionsOf(study.plan, runs);
  const lists: [string, string[]][] = [
    ...questions.map((question): [string, string[]] => [titleOfQuestion(question), answersOf(question)]),
    ['Missing', holesOf(study)],
    ['Doubts', doubtsOf(runs, questions)],
  ];
  return [
    '',
    ...lists.flatMap(([title, lines]) => (lines.length === 0 ? [] : [title, ...lines.map((line) => `  ${line}`), ''])),
    `Study: ${join(folder, 'study.json')}, and beside it study.md, study.html, runs/ and the output of each run in logs/`,
  ].join('\n');
}
