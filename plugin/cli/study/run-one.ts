/** One run of a study: its server, if the study starts one, and Artillery. */
import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { EXIT_CODES } from '../../../protocol/codes/exit-codes.ts';
import type { StudyRun } from '../../../protocol/documents/study.ts';
import { CapacityError, describeError } from '../../../protocol/errors.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { isUsable } from '../../../report/figures/measured-figures.ts';
import { PLUGIN } from '../../script/script.ts';
import type { RunOutcome } from '../runs/child-run.ts';
import { logged, runArtillery } from '../runs/logged-run.ts';
import { STOPPED } from '../runs/until-stopped.ts';
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
  const { made, error, result } = await logged(options.folder, number, (log) => outcomeOf(planned, options, log));
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
  return runArtillery(folder, log, {
    artillery,
    scenario: file.scenario,
    args: Object.keys(overrides).length === 0 ? [] : ['--overrides', JSON.stringify(overrides)],
    env,
    signal,
  });
}

/** Which processes' memory and CPU are measured. */
function withPids(overrides: { config?: { plugins?: Record<string, object> } }, pids: number[]): object {
  const { plugins } = overrides.config ?? {};
  const own = { ...plugins?.[PLUGIN], workers: { pids } };
  return { ...overrides, config: { ...overrides.config, plugins: { ...plugins, [PLUGIN]: own } } };
}

function invalidText(result: Result | undefined): string | undefined {
  return result && `INVALID: ${result.verdict.reasons.map(({ code }) => code).join(', ')}`;
}
