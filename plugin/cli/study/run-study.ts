/** Runs what a study still lacks, and rewrites its documents after each run. */
import { join } from 'node:path';
import { type Study, type StudyRun, studySchema } from '../../../protocol/documents/study.ts';
import type { CapacityError } from '../../../protocol/errors.ts';
import { renderStudy } from '../../../report/html/study.ts';
import { renderStudyMarkdown } from '../../../report/study/markdown.ts';
import { labelOf, type MeasuredRun, summarize } from '../../../report/study/summarize.ts';
import { wasMeasured } from '../runs/child-run.ts';
import { makeSeriesFolders, writeDocuments } from '../runs/logged-run.ts';
import { lockStudy } from './lock.ts';
import { unmetNeeds } from './needs.ts';
import { orderOf, type PlannedRun } from './order.ts';
import { earlierRuns, STUDY } from './resume.ts';
import { runOne } from './run-one.ts';
import type { StudyFile } from './study-file.ts';

interface StudyOptions {
  /** As of `artilleryScript`. */
  artillery: string;
  file: StudyFile;
  /** Where the study has its folder. */
  results: string;
  /** Ends the current run as Ctrl-C would, and the study. */
  signal: AbortSignal;
  /** @param unmet what is missing for a combination, by its label: its runs will be holes */
  onStart(study: Study, unmet: Map<string, CapacityError>): void;
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
 * @throws CapacityError STUDY_RUNNING, STUDY_CHANGED, STUDY_UNREADABLE, RESULTS_UNWRITABLE
 */
export async function runStudy(options: StudyOptions): Promise<StudyOutcome> {
  const { file, results } = options;
  const folder = join(results, `study-${file.name}`);
  makeSeriesFolders(folder);
  const unlock = lockStudy(folder);
  try {
    return await runMissing(options, folder);
  } finally {
    unlock();
  }
}

async function runMissing(options: StudyOptions, folder: string): Promise<StudyOutcome> {
  const { artillery, file, signal, onStart, onRun, onEnd } = options;
  const { name, title, plan, scenarioHash } = file;
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
  const unmet = await unmetNeeds(plan);
  onStart(current().study, unmet);
  for (const planned of order) {
    if (signal.aborted) break;
    if (wasMeasured(found.get(planned.number)?.run.exitCode ?? -1)) continue;
    onRun(planned, current().study);
    const done = await runOne(planned, { artillery, file, folder, unmet: unmet.get(labelOf(planned.levels)), signal });
    found.set(planned.number, done);
    writeStudy(current());
    onEnd(done.run);
  }
  const outcome = current();
  writeStudy(outcome);
  return outcome;
}

function writeStudy({ folder, study, runs }: StudyOutcome): void {
  writeDocuments(folder, {
    [STUDY]: `${JSON.stringify(studySchema.parse(study), null, 1)}\n`,
    'study.md': renderStudyMarkdown(study, runs),
    'study.html': renderStudy(study, runs),
  });
}
