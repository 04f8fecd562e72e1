/** Runs what a study still lacks, and rewrites its documents after each run. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ERROR_CODES } from '../../../protocol/codes/error-codes.ts';
import { CapacityError } from '../../../protocol/errors.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { type Study, type StudyRun, studySchema } from '../../../protocol/study.ts';
import { renderStudy } from '../../../report/html/study.ts';
import { isUsable } from '../../../report/measured-figures.ts';
import { renderStudyMarkdown } from '../../../report/study/markdown.ts';
import { type MeasuredRun, summarize } from '../../../report/study/summarize.ts';
import { replace } from '../../run/record/replace.ts';
import { runAsChild, wasMeasured } from '../child-run.ts';
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
  makeFolders(folder);
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
  const startedAt = new Date().toISOString();
  const startedMs = performance.now();
  const log = join(folder, 'logs', `${number}.log`);
  writeFileSync(log, '');
  const { env, args } = settingsOf(levels);
  const { exitCode, path, result } = await runAsChild({
    artillery,
    scenario,
    folder: join(folder, 'runs'),
    args,
    env,
    stdio: ['ignore', { file: log, append: true }, { file: log, append: true }],
    signal,
  });
  const run: StudyRun = {
    number,
    block,
    levels,
    startedAt,
    exitCode,
    seconds: (performance.now() - startedMs) / 1000,
    result: path === undefined ? null : join('runs', path),
    status: result?.verdict.status ?? null,
    problem: result && isUsable(result) ? null : problemOf(exitCode, result, log),
  };
  return { run, result };
}

/** Why a run contributes no figures: its verdict, or else its error. */
function problemOf(exitCode: number, result: Result | undefined, log: string): string {
  if (result) return `INVALID: ${result.verdict.reasons.map(({ code }) => code).join(', ')}`;
  const error = readFileSync(log, 'utf8')
    .split('\n')
    .find((line) => Object.hasOwn(ERROR_CODES, /^\s*([A-Z_]+): /.exec(line)?.[1] ?? ''));
  return `${error?.trim() ?? 'no result'} (exit code ${exitCode})`;
}

function makeFolders(folder: string): void {
  try {
    for (const inner of ['runs', 'logs']) mkdirSync(join(folder, inner), { recursive: true });
  } catch (cause) {
    const fix = 'choose a folder that you can write to: --results <folder>';
    throw new CapacityError('RESULTS_UNWRITABLE', `cannot create ${folder}`, fix, { cause });
  }
}

function writeStudy({ folder, study, runs }: StudyOutcome): void {
  const files = {
    [STUDY]: `${JSON.stringify(studySchema.parse(study), null, 1)}\n`,
    'study.md': renderStudyMarkdown(study, runs),
    'study.html': renderStudy(study, runs),
  };
  for (const [name, text] of Object.entries(files)) {
    replace(join(folder, name), (temporary) => writeFileSync(temporary, text));
  }
}
