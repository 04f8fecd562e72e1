/** What a study prints before its first run, and after its last one. */
import { join } from 'node:path';
import type { Study } from '../../../protocol/documents/study.ts';
import { type CapacityError, describeError } from '../../../protocol/errors.ts';
import { type ConsoleOptions, renderSummary } from '../../../report/render/console.ts';
import { studyDocument } from '../../../report/study/document.ts';
import type { MeasuredRun } from '../../../report/study/summarize.ts';
import type { StudyFile } from './study-file.ts';

/** @param unmet what is missing for a combination, by its label */
export function beginningOf({ name, title, plan }: StudyFile, unmet: Map<string, CapacityError>): string {
  const holes = [...unmet].map(([label, error]) => `Missing: ${label}: no figures. ${describeError(error)}`);
  return [title || name, plan.scenario, ...holes].join('\n');
}

/** @param runs in the order of `study.runs` */
export function endingOf(study: Study, runs: MeasuredRun[], folder: string, options: ConsoleOptions): string {
  return [
    '',
    renderSummary(studyDocument(study, runs), ['missing', 'doubts'], options),
    '',
    `Study: ${join(folder, 'study.json')}, and beside it study.md, study.html, runs/ and the output of each run in logs/`,
  ].join('\n');
}
