/** The runs of a series in one folder: results in `runs/`, the output of each in `logs/`, documents about all beside them. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ERROR_CODES } from '../../../protocol/codes/error-codes.ts';
import { CapacityError } from '../../../protocol/errors.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { replace } from '../../run/record/replace.ts';
import { type ChildRun, type RunOutcome, runAsChild } from './child-run.ts';

type LoggedRun = Pick<ChildRun, 'artillery' | 'scenario' | 'args' | 'env' | 'signal'>;

export interface LoggedOutcome {
  made: {
    startedAt: string;
    /** Of `artillery run`. */
    exitCode: number;
    seconds: number;
    /** Path of its result.json, relative to the folder of the series; null if the run left none. */
    result: string | null;
  };
  result: Result | undefined;
  /** The first error that it printed, and its exit code. */
  error: string;
}

/** @throws CapacityError RESULTS_UNWRITABLE */
export function makeSeriesFolders(folder: string): void {
  try {
    for (const inner of ['runs', 'logs']) mkdirSync(join(folder, inner), { recursive: true });
  } catch (cause) {
    const fix = 'choose a folder that you can write to: --results <folder>';
    throw new CapacityError('RESULTS_UNWRITABLE', `cannot create ${folder}`, fix, { cause });
  }
}

/**
 * @param folder of the series
 * @param number names the log
 * @param work one run, whose output goes to the log
 */
export async function logged(
  folder: string,
  number: number,
  work: (log: string) => Promise<RunOutcome>,
): Promise<LoggedOutcome> {
  const startedAt = new Date().toISOString();
  const startedMs = performance.now();
  const log = join(folder, 'logs', `${number}.log`);
  writeFileSync(log, '');
  const { exitCode, path, result } = await work(log);
  const seconds = (performance.now() - startedMs) / 1000;
  return {
    made: { startedAt, exitCode, seconds, result: path === undefined ? null : join('runs', path) },
    result,
    error: errorIn(log, exitCode),
  };
}

/** Artillery, as a run of the series in the folder. */
export function runArtillery(folder: string, log: string, run: LoggedRun): Promise<RunOutcome> {
  return runAsChild({
    ...run,
    folder: join(folder, 'runs'),
    stdio: ['ignore', { file: log, append: true }, { file: log, append: true }],
  });
}

/** @param texts by file name; each is replaced as a whole */
export function writeDocuments(folder: string, texts: Record<string, string>): void {
  for (const [name, text] of Object.entries(texts)) {
    replace(join(folder, name), (temporary) => writeFileSync(temporary, text));
  }
}

function errorIn(log: string, exitCode: number): string {
  const error = readFileSync(log, 'utf8')
    .split('\n')
    .find((line) => Object.hasOwn(ERROR_CODES, /^\s*([A-Z_]+): /.exec(line)?.[1] ?? ''));
  return `${error?.trim() ?? 'no result'} (exit code ${exitCode})`;
}
