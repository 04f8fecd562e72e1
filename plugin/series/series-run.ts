/** One run of a series: `artillery run` as a child process, its output in a log, and a server of its own where it needs one. */
import { appendFileSync, globSync, rmSync, writeFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { execa } from 'execa';
import { ERROR_FILE, takeError } from '../../protocol/base/ended-by.ts';
import { maskCommandLine } from '../../protocol/base/secrets/command-line.ts';
import { isWriteError, unwritable } from '../../protocol/base/unwritable.ts';
import { CapacityError, describeError } from '../../protocol/codes/errors.ts';
import { exitCodeOf, STOPPED } from '../../protocol/codes/exit-codes.ts';
import { endingOf, type SeriesRun } from '../../protocol/documents/series-schema.ts';
import type { Result } from '../../protocol/result/result.ts';
import { isUsable } from '../../report/figures/measured-figures.ts';
import { readResult } from '../../report/read.ts';
import { PLUGIN } from '../script/script.ts';
import { OTHER_FOLDER, writing } from './folder.ts';
import { type ServerCommand, startOwnServer } from './own-server.ts';

export interface RunCommand {
  scenario: string;
  /** Further arguments of `artillery run`. */
  args: string[];
  /** What Artillery's `--overrides` merges into the scenario. */
  overrides: { config?: { plugins?: Record<string, object> } };
  /** Environment variables besides those of this process. */
  env: Record<string, string>;
  /** Started before the run, measured by it, and stopped after it. */
  server?: ServerCommand;
}

export interface Surroundings {
  /** As of `artilleryScript`. */
  artillery: string;
  /** The series' own: runs go to `runs/` in it, their output to `logs/`. No other run may write there meanwhile. */
  folder: string;
  /** Ends the run as Ctrl-C would. */
  signal: AbortSignal;
}

export interface EndedRun {
  run: SeriesRun;
  result: Result | undefined;
  /** What ended it before it had a result. */
  error: CapacityError | undefined;
}

/**
 * @param number of the run, which names its logs
 * @param commandOf what it throws as a CapacityError becomes the reason why the run was refused
 * @returns how it went, whatever came of it
 */
export async function makeRun(
  number: number,
  commandOf: () => RunCommand,
  surroundings: Surroundings,
): Promise<EndedRun> {
  const { folder, signal } = surroundings;
  const log = join(folder, 'logs', `${number}.log`);
  writing(log, () => writeFileSync(log, ''));
  const startedAt = new Date().toISOString();
  const startedMs = performance.now();
  const errorFile = join(folder, 'logs', `${number}.error.json`);
  let [exitCode, path]: [number, string | undefined] = [STOPPED, undefined];
  let error: CapacityError | undefined;
  try {
    const command = commandOf();
    const handsOver = { ...command, env: { ...command.env, [ERROR_FILE]: errorFile } };
    [exitCode, path] = await start(handsOver, number, log, surroundings);
    error = takeError(errorFile);
  } catch (thrown) {
    if (!signal.aborted) {
      if (!(thrown instanceof CapacityError)) throw thrown;
      writing(log, () => appendFileSync(log, `\n${describeError(thrown)}\n`));
      exitCode = exitCodeOf('refused');
      error = thrown;
    }
  } finally {
    rmSync(errorFile, { force: true });
  }
  const result = path === undefined ? undefined : readResult(join(folder, path));
  // Such as a scenario without the plugin: Artillery's exit code says nothing of a measurement.
  if (!result && endingOf(exitCode) === 'measured') exitCode = exitCodeOf('refused');
  const seconds = (performance.now() - startedMs) / 1000;
  const status = result?.verdict.status ?? null;
  const problem = problemOf(exitCode, result, error);
  return { run: { number, startedAt, seconds, exitCode, result: path ?? null, status, problem }, result, error };
}

const STARTER = join(import.meta.dirname, `start-artillery${extname(import.meta.filename)}`);

function problemOf(exitCode: number, result: Result | undefined, error: CapacityError | undefined): string | null {
  const ending = endingOf(exitCode);
  if (ending === 'stopped') return 'stopped';
  if (ending === 'measured' && result) {
    const spoiling = result.findings.filter(({ invalidates }) => invalidates.includes('run'));
    return isUsable(result) ? null : `INVALID: ${spoiling.map(({ code }) => code).join(', ')}`;
  }
  return `${error ? `${error.code}: ${error.message}` : 'no result'} (exit code ${exitCode})`;
}

/**
 * @returns the exit code, and the path of the run's result.json in the folder if it left one
 * @throws CapacityError of the server, also if it has ended during the run: what was measured then is not its figures
 */
async function start(
  command: RunCommand,
  number: number,
  log: string,
  surroundings: Surroundings,
): Promise<[number, string | undefined]> {
  const { server: description, overrides } = command;
  if (!description) return runArtillery(command, log, surroundings);
  const { folder, signal } = surroundings;
  const serverLog = join(folder, 'logs', `${number}.server.log`);
  const server = await startOwnServer(description, { env: command.env, log: serverLog, signal });
  try {
    const measured = { ...command, overrides: withPids(overrides, [server.pid]) };
    const made = await runArtillery(measured, log, surroundings);
    if (!server.hasEnded()) return made;
    throw new CapacityError(
      'START_FAILED',
      `${maskCommandLine(description.command)} has ended during the run`,
      `read its log: ${serverLog}`,
    );
  } finally {
    await server.close();
  }
}

/** Which processes' memory and CPU are measured. */
function withPids({ config }: RunCommand['overrides'], pids: number[]): RunCommand['overrides'] {
  const plugin = { ...config?.plugins?.[PLUGIN], workers: { pids } };
  return { config: { ...config, plugins: { ...config?.plugins, [PLUGIN]: plugin } } };
}

async function runArtillery(
  { scenario, args, overrides, env }: RunCommand,
  log: string,
  { artillery, folder, signal }: Surroundings,
): Promise<[number, string | undefined]> {
  signal.throwIfAborted();
  const before = resultsIn(folder);
  const overriding = Object.keys(overrides).length === 0 ? [] : ['--overrides', JSON.stringify(overrides)];
  const output = { file: log, append: true } as const;
  const child = execa(process.execPath, [STARTER], {
    input: JSON.stringify([artillery, 'run', ...args, ...overriding, scenario]),
    stdout: output,
    stderr: output,
    env: { ...env, CAPACITY_RESULTS: join(folder, 'runs') },
    reject: false,
  });
  // On Ctrl-C, the terminal sends the signal to Artillery as well, which acts on the first one only.
  const stop = () => child.kill('SIGINT');
  signal.addEventListener('abort', stop);
  const { exitCode = KILLED, cause } = await child;
  signal.removeEventListener('abort', stop);
  if (isWriteError(cause)) throw unwritable(log, cause, OTHER_FOLDER);
  return [exitCode, resultsIn(folder).find((path) => !before.includes(path))];
}

/** In place of the exit code of a child that a signal killed. */
const KILLED = 128;

/** `latest` is a link to one of them. A refused run removes its folder. */
function resultsIn(folder: string): string[] {
  return globSync('runs/*/result.json', { cwd: folder }).filter((path) => !path.startsWith(join('runs', 'latest')));
}
