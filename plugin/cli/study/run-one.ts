/** One run of a study: its server, if the study starts one, and Artillery. */
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ERROR_CODES } from '../../../protocol/codes/error-codes.ts';
import { EXIT_CODES } from '../../../protocol/codes/exit-codes.ts';
import { CapacityError, describeError } from '../../../protocol/errors.ts';
import type { Result } from '../../../protocol/result/result.ts';
import type { StudyRun } from '../../../protocol/study.ts';
import { isUsable } from '../../../report/measured-figures.ts';
import { PLUGIN } from '../../script/script.ts';
import { type RunOutcome, runAsChild } from '../child-run.ts';
import { STOPPED } from '../until-stopped.ts';
import { settingsOf } from './levels.ts';
import type { PlannedRun } from './order.ts';
import { startOwnServer } from './own-server.ts';
import type { StudyFile } from './study-file.ts';

interface RunOptions {
  /** As of `artilleryScript`. */
  artillery: string;
  file: StudyFile;
  /** Of the study. */
  folder: string;
  /** What the run would lack: it is not made then. */
  unmet: CapacityError | undefined;
  signal: AbortSignal;
}

export async function runOne(
  planned: PlannedRun,
  options: RunOptions,
): Promise<{ run: StudyRun; result: Result | undefined }> {
  const { number, block, levels } = planned;
  const startedAt = new Date().toISOString();
  const startedMs = performance.now();
  const log = join(options.folder, 'logs', `${number}.log`);
  writeFileSync(log, '');
  const { exitCode, path, result } = await outcomeOf(planned, options, log);
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

async function outcomeOf(planned: PlannedRun, options: RunOptions, log: string): Promise<RunOutcome> {
  const nothing = { path: undefined, result: undefined };
  try {
    if (options.unmet) throw options.unmet;
    return await withServer(planned, options, log);
  } catch (error) {
    if (options.signal.aborted) return { exitCode: STOPPED, ...nothing };
    if (!(error instanceof CapacityError)) throw error;
    appendFileSync(log, describeError(error));
    return { exitCode: EXIT_CODES.refused, ...nothing };
  }
}

/** @throws CapacityError of the server, also if it has ended during the run: what was measured then is not its figures */
async function withServer(planned: PlannedRun, options: RunOptions, log: string): Promise<RunOutcome> {
  const { file, folder, signal } = options;
  const { env, overrides } = settingsOf(planned.levels);
  const description = file.plan.servers[String(planned.levels.server)];
  if (!description) return artillery(env, overrides, options, log);
  const serverLog = join(folder, 'logs', `${planned.number}.server.log`);
  writeFileSync(serverLog, '');
  const server = await startOwnServer(description, { env, cwd: file.folder, log: serverLog, signal });
  try {
    const outcome = await artillery(env, withPids(overrides, [server.pid]), options, log);
    if (!server.hasEnded()) return outcome;
    throw new CapacityError(
      'STUDY_SERVER_FAILED',
      `${description.command.join(' ')} has ended during the run`,
      `read its log: ${serverLog}`,
    );
  } finally {
    await server.close();
  }
}

function artillery(
  env: Record<string, string>,
  overrides: object,
  { artillery, file, folder, signal }: RunOptions,
  log: string,
): Promise<RunOutcome> {
  return runAsChild({
    artillery,
    scenario: file.scenario,
    folder: join(folder, 'runs'),
    args: Object.keys(overrides).length === 0 ? [] : ['--overrides', JSON.stringify(overrides)],
    env,
    stdio: ['ignore', { file: log, append: true }, { file: log, append: true }],
    signal,
  });
}

/** Which processes' memory and CPU are measured. */
function withPids(overrides: { config?: { plugins?: Record<string, object> } }, pids: number[]): object {
  const { plugins } = overrides.config ?? {};
  const own = { ...plugins?.[PLUGIN], workers: { pids } };
  return { ...overrides, config: { ...overrides.config, plugins: { ...plugins, [PLUGIN]: own } } };
}

/** Why a run contributes no figures: its verdict, or else its error. */
function problemOf(exitCode: number, result: Result | undefined, log: string): string {
  if (result) return `INVALID: ${result.verdict.reasons.map(({ code }) => code).join(', ')}`;
  const error = readFileSync(log, 'utf8')
    .split('\n')
    .find((line) => Object.hasOwn(ERROR_CODES, /^\s*([A-Z_]+): /.exec(line)?.[1] ?? ''));
  return `${error?.trim() ?? 'no result'} (exit code ${exitCode})`;
}
