/** One `artillery run` as a child process, for the commands that run several. */
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { execa } from 'execa';
import { EXIT_CODES } from '../../../protocol/codes/exit-codes.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { readResult } from '../../../report/read.ts';
import { resolveArtillery } from './artillery.ts';

export interface ChildRun {
  /** As of `artilleryScript`. */
  artillery: string;
  /** Path of the scenario. */
  scenario: string;
  /** Where the run creates its folder. No other run may write there meanwhile. */
  folder: string;
  /** Further arguments of `artillery run`. */
  args: string[];
  /** Environment variables besides those of this process. */
  env: Record<string, string>;
  /** Standard input, output and error. */
  stdio: ['inherit', 1 | 2, 'inherit'] | ['ignore', LogFile, LogFile];
  /** Ends the run as Ctrl-C would. */
  signal: AbortSignal;
}

/** Appends to it. */
interface LogFile {
  file: string;
  append: true;
}

export interface RunOutcome {
  /** Of `artillery run`; 128 or more if a signal killed it, as in a shell. */
  exitCode: number;
  /** Path of its result.json, relative to the folder; undefined, as is `result`, if the run left none. */
  path: string | undefined;
  result: Result | undefined;
}

const RESULT = 'result.json';
/** Exit codes of a run that came to its end. */
const MEASURED: number[] = [0, EXIT_CODES.worse, EXIT_CODES.suspect, EXIT_CODES.invalid];

/** @throws CapacityError ARTILLERY_MISSING */
export function artilleryScript(): string {
  return join(dirname(resolveArtillery('artillery/package.json')), 'bin/run');
}

/** @returns whether the run came to its end, rather than being refused, stopped or crashing */
export function wasMeasured(exitCode: number): boolean {
  return MEASURED.includes(exitCode);
}

export async function runAsChild({
  artillery,
  scenario,
  folder,
  args,
  env,
  stdio,
  signal,
}: ChildRun): Promise<RunOutcome> {
  const known = runsIn(folder);
  const child = execa(process.execPath, [artillery, 'run', ...args, scenario], {
    stdio,
    env: { ...env, CAPACITY_RESULTS: folder },
    reject: false,
  });
  // On Ctrl-C, the terminal sends the signal to Artillery as well, which acts on the first one only.
  const stop = () => child.kill('SIGINT');
  signal.addEventListener('abort', stop);
  const { exitCode = 128 } = await child;
  signal.removeEventListener('abort', stop);
  const name = runsIn(folder).find((found) => !known.includes(found));
  if (name === undefined) return { exitCode, path: undefined, result: undefined };
  return { exitCode, path: join(name, RESULT), result: readResult(join(folder, name)) };
}

/** Runs with a result. `latest` is a link to one of them. A refused run removes its folder. */
function runsIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  const entries = readdirSync(folder, { withFileTypes: true });
  return entries.flatMap(({ name }) => (name !== 'latest' && existsSync(join(folder, name, RESULT)) ? [name] : []));
}
