/** Runs what a study still lacks, and rewrites its documents after each run. */
import { join } from 'node:path';
import type { Result } from '../../../protocol/result/result.ts';
import { type Study, type StudyRun, studySchema } from '../../../protocol/study.ts';
import { renderStudy } from '../../../report/html/study.ts';
import { isUsable } from '../../../report/measured-figures.ts';
import { renderStudyMarkdown } from '../../../report/study/markdown.ts';
import { type MeasuredRun, summarize } from '../../../report/study/summarize.ts';
import { wasMeasured } from '../child-run.ts';
import { makeSeriesFolders, runLogged, writeDocuments } from '../logged-run.ts';
import { settingsOf } from './levels.ts';
import { orderOf, type PlannedRun } from './order.ts';
import { earlierRuns, STUDY } from './resume.ts';
import type { StudyFile } from './study-file.ts';

interface StudyOptions {
  /** As of `artilleryScript`. */
  artillery: string;
  file: StudyFile;
  /** Where the study has its folder. */
  results: string;
  /** Ends the current run as Ctrl-C would, and the study. */
  signal: AbortSignal;
  onStart(study: Study): void;
  onRun(planned: PlannedRun, study: Study): void;
  onEnd(run: StudyRun): void;
}

export interface StudyOutcome {
  folder: string;
  study: Study;
  runs: MeasuredRun[];
}

/**
 * Runs that came to their end before are not repeated; those that were refused, stopped or crashed are tried once more.
 * @throws CapacityError STUDY_CHANGED, STUDY_UNREADABLE, RESULTS_UNWRITABLE
 */
export async function runStudy(options: StudyOptions): Promise<StudyOutcome> {
  const { artillery, file, results, signal, onStart, onRun, onEnd } = options;
  const { name, title, plan, scenarioHash } = file;
  const folder = join(results, `study-${name}`);
  makeSeriesFolders(folder);
  const order = orderOf(plan);
  const { startedAt = new Date().toISOString(), runs: found } = earlierRuns(folder, file);
  const current = (): StudyOutcome => {
    const runs = order.flatMap(({ number }) => found.get(number) ?? []);
    const measured = runs.map(({ run, result }) => ({ levels: run.levels, result }));
    return {
      folder,
      runs: measured,
      study: {
        schemaVersion: 1,
        name,
        title,
        plan,
        scenarioHash,
        startedAt,
        planned: order.length,
        runs: runs.map(({ run }) => run),
        ...summarize(plan, measured),
      },
    };
  };
  onStart(current().study);
  for (const planned of order) {
    if (signal.aborted) break;
    if (wasMeasured(found.get(planned.number)?.run.exitCode ?? -1)) continue;
    onRun(planned, current().study);
    const done = await runOne(planned, artillery, folder, file.scenario, signal);
    found.set(planned.number, done);
    writeStudy(current());
    onEnd(done.run);
  }
  const outcome = current();
  writeStudy(outcome);
  return outcome;
}

async function runOne(
  { number, block, levels }: PlannedRun,
  artillery: string,
  folder: string,
  scenario: string,
  signal: AbortSignal,
): Promise<{ run: StudyRun; result: Result | undefined }> {
  const { made, error, result } = await runLogged({
    artillery,
    scenario,
    folder,
    number,
    ...settingsOf(levels),
    signal,
  });
  const run: StudyRun = {
    number,
    block,
    levels,
    ...made,
    status: result?.verdict.status ?? null,
    problem: result && isUsable(result) ? null : (invalidText(result) ?? error),
  };
  return { run, result };
}

function invalidText(result: Result | undefined): string | undefined {
  return result && `INVALID: ${result.verdict.reasons.map(({ code }) => code).join(', ')}`;
}

function writeStudy({ folder, study, runs }: StudyOutcome): void {
  writeDocuments(folder, {
    [STUDY]: `${JSON.stringify(studySchema.parse(study), null, 1)}\n`,
    'study.md': renderStudyMarkdown(study, runs),
    'study.html': renderStudy(study, runs),
  });
}
