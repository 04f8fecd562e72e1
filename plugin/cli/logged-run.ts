/** The runs of a series in one folder: results in `runs/`, the output of each in `logs/`, documents about all beside them. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ERROR_CODES } from '../../protocol/codes/error-codes.ts';
import { CapacityError } from '../../protocol/errors.ts';
import type { Result } from '../../protocol/result/result.ts';
import { replace } from '../run/record/replace.ts';
import { type ChildRun, runAsChild } from './child-run.ts';

interface LoggedRun extends Pick<ChildRun, 'artillery' | 'scenario' | 'args' | 'env' | 'signal'> {
  /** Of the series. */
  folder: string;
  /** Names the log. */
  number: number;
}

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

export async function runLogged({ folder, number, ...child }: LoggedRun): Promise<LoggedOutcome> {
  const startedAt = new Date().toISOString();
  const startedMs = performance.now();
  const log = join(folder, 'logs', `${number}.log`);
  writeFileSync(log, '');
  const { exitCode, path, result } = await runAsChild({
    ...child,
    folder: join(folder, 'runs'),
    stdio: ['ignore', { file: log, append: true }, { file: log, append: true }],
  });
  const seconds = (performance.now() - startedMs) / 1000;
  return {
    made: { startedAt, exitCode, seconds, result: path === undefined ? null : join('runs', path) },
    result,
    error: errorIn(log, exitCode),
  };
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
