/**
 * Makes one run of a series: starts `artillery run` as a child process, writes its output to a log, and starts the
 * user's server if configured.
 */
import { appendFileSync, globSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ERROR_FILE_VARIABLE, takeChildError } from '../../protocol/base/fatal-error.ts';
import { maskCommandLine } from '../../protocol/base/secrets/command-line.ts';
import { isWriteError, unwritableError } from '../../protocol/base/unwritable.ts';
import { CapacityError, describeError } from '../../protocol/codes/errors.ts';
import { exitCodeOfOutcome, STOPPED_EXIT_CODE } from '../../protocol/codes/exit-codes.ts';
import { runEndingOf, type SeriesRun } from '../../protocol/documents/series-schema.ts';
import type { Result } from '../../protocol/result/result.ts';
import { isUsable } from '../../report/figures/measured-figures.ts';
import { readResult } from '../../report/read.ts';
import { PLUGIN_NAME } from '../script/script.ts';
import { startPrivately } from './artillery-arguments.ts';
import { OTHER_FOLDER, withWriteErrors } from './folder.ts';
import { type ServerCommand, startOwnServer } from './own-server.ts';

export interface RunCommand {
  scenario: string;
  /** Further arguments for `artillery run`. */
  args: string[];
  /** Artillery's `--overrides`, which Artillery merges into the scenario. */
  overrides: { config?: { plugins?: Record<string, object> } };
  /** Environment variables of the run, in addition to the variables of this process. */
  env: Record<string, string>;
  /** Server that the run measures. It is started before the run and stopped after it. */
  server?: ServerCommand;
}

export interface SeriesRunContext {
  /** Path of Artillery's command-line program. */
  artillery: string;
  /** Command line that conducts a run over several hosts in place of Artillery. */
  conduct?: string[] | undefined;
  /**
   * Folder of the series, with results in `runs/` and output in `logs/`. No other run may write to it at the same time.
   */
  folder: string;
  /** Signal that ends the run in the same way as Ctrl-C. */
  signal: AbortSignal;
}

export interface EndedRun {
  run: SeriesRun;
  result: Result | undefined;
  /** The error that ended the run before it had a result. */
  error: CapacityError | undefined;
}

/**
 * Makes one run.
 * @param number number of the run, which is part of the names of its logs
 * @param commandOf returns the command for the run; if it throws a CapacityError, the run counts as refused
 * @returns how the run ended
 */
export async function runOnce(
  number: number,
  commandOf: () => RunCommand,
  surroundings: SeriesRunContext,
): Promise<EndedRun> {
  const { folder, signal } = surroundings;
  const log = join(folder, 'logs', `${number}.log`);
  withWriteErrors(log, () => writeFileSync(log, ''));
  const startedAt = new Date().toISOString();
  const startedMs = performance.now();
  const errorFile = join(folder, 'logs', `${number}.error.json`);
  let [exitCode, path]: [number, string | undefined] = [STOPPED_EXIT_CODE, undefined];
  let error: CapacityError | undefined;
  try {
    const command = commandOf();
    const withErrorFile = { ...command, env: { ...command.env, [ERROR_FILE_VARIABLE]: errorFile } };
    [exitCode, path] = await start(withErrorFile, number, log, surroundings);
    error = takeChildError(errorFile);
  } catch (thrown) {
    if (!signal.aborted) {
      if (!(thrown instanceof CapacityError)) throw thrown;
      withWriteErrors(log, () => appendFileSync(log, `\n${describeError(thrown)}\n`));
      exitCode = exitCodeOfOutcome('refused');
      error = thrown;
    }
  } finally {
    rmSync(errorFile, { force: true });
  }
  const result = path === undefined ? undefined : readResult(join(folder, path));
  // A run without a result measured nothing, whatever Artillery's exit code is.
  if (!result && runEndingOf(exitCode) === 'measured') exitCode = exitCodeOfOutcome('refused');
  const seconds = (performance.now() - startedMs) / 1000;
  const status = result?.verdict.status ?? null;
  const problem = problemOf(exitCode, result, error);
  return { run: { number, startedAt, seconds, exitCode, result: path ?? null, status, problem }, result, error };
}

function problemOf(exitCode: number, result: Result | undefined, error: CapacityError | undefined): string | null {
  const ending = runEndingOf(exitCode);
  if (ending === 'stopped') return 'stopped';
  if (ending === 'measured' && result) {
    const invalidating = result.findings.filter(({ invalidates }) => invalidates.includes('run'));
    return isUsable(result) ? null : `INVALID: ${invalidating.map(({ code }) => code).join(', ')}`;
  }
  return `${error ? `${error.code}: ${error.message}` : 'no result'} (exit code ${exitCode})`;
}

/**
 * Starts the server, if configured, and Artillery.
 * @returns the exit code, and the path of the run's result.json relative to the folder, if there is a result
 * @throws CapacityError if the server does not start, or ends during the run
 */
async function start(
  command: RunCommand,
  number: number,
  log: string,
  surroundings: SeriesRunContext,
): Promise<[number, string | undefined]> {
  const { server: description, overrides } = command;
  if (!description) return runArtillery(command, log, surroundings);
  const { folder, signal } = surroundings;
  const serverLog = join(folder, 'logs', `${number}.server.log`);
  const server = await startOwnServer(description, { env: command.env, log: serverLog, signal });
  try {
    // A run with control ports finds the processes of the workers by them.
    const withServer = command.env.CAPACITY_CONTROL
      ? command
      : { ...command, overrides: withPids(overrides, [server.pid]) };
    const outcome = await runArtillery(withServer, log, surroundings);
    if (!server.hasEnded()) return outcome;
    throw new CapacityError(
      'START_FAILED',
      `${maskCommandLine(description.command)} ended during the run`,
      `read its log: ${serverLog}`,
    );
  } finally {
    await server.close();
  }
}

/** Adds to Artillery's overrides the processes of the server, whose memory and CPU the run measures. */
function withPids({ config }: RunCommand['overrides'], pids: number[]): RunCommand['overrides'] {
  const plugin = { ...config?.plugins?.[PLUGIN_NAME], workers: { pids } };
  return { config: { ...config, plugins: { ...config?.plugins, [PLUGIN_NAME]: plugin } } };
}

async function runArtillery(
  { scenario, args, overrides, env }: RunCommand,
  log: string,
  { artillery, conduct, folder, signal }: SeriesRunContext,
): Promise<[number, string | undefined]> {
  signal.throwIfAborted();
  const earlierResults = resultsIn(folder);
  const program = conduct ? [...conduct, `--env=${Object.keys(env).join(',')}`] : [artillery, 'run'];
  const overrideArguments = Object.keys(overrides).length === 0 ? [] : ['--overrides', JSON.stringify(overrides)];
  const { exitCode = KILLED, cause } = await startPrivately([...program, ...args, ...overrideArguments, scenario], {
    output: { file: log, append: true },
    env: { ...env, CAPACITY_RESULTS: join(folder, 'runs') },
    ...{ signal, stopSignal: conduct ? 'SIGTERM' : 'SIGINT' },
  });
  if (isWriteError(cause)) throw unwritableError(log, cause, OTHER_FOLDER);
  return [exitCode, resultsIn(folder).find((path) => !earlierResults.includes(path))];
}

/** Exit code for a child process that was ended by a signal. */
const KILLED = 128;

/** Returns the result files of all runs, without the link `latest`. */
function resultsIn(folder: string): string[] {
  return globSync('runs/*/result.json', { cwd: folder }).filter((path) => !path.startsWith(join('runs', 'latest')));
}
