/** Runs a scenario several times, one run after the other, and writes the spread of the figures to repeat.json. */
import { existsSync, mkdirSync, readdirSync, renameSync, rmdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { execa } from 'execa';
import { CapacityError } from '../../protocol/errors.ts';
import { EXIT_CODES } from '../../protocol/exit-codes.ts';
import { type Repeat, repeatSchema } from '../../protocol/repeat.ts';
import type { Result } from '../../protocol/result.ts';
import { figureSpreads } from '../../report/measured-figures.ts';
import { readResult } from '../../report/read.ts';
import { runId, scenarioName } from '../run/measurements.ts';
import { resolveArtillery } from './artillery.ts';

export interface RepeatOptions {
  /** Path of the scenario. */
  scenario: string;
  times: number;
  /** Where to create the folder of the series. */
  results: string;
  /** Further arguments of `artillery run`. */
  artilleryArgs: string[];
  /** File descriptor for Artillery's standard output. */
  stdout: 1 | 2;
  /** Ends the current run as Ctrl-C would, and the series. */
  signal: AbortSignal;
  onRun(index: number): void;
}

const RESULT = 'result.json';
/** Exit codes after which another run makes sense. */
const MEASURED: number[] = [0, EXIT_CODES.worse, EXIT_CODES.suspect, EXIT_CODES.invalid];

/**
 * @returns the series so far, whose last run may have been refused, crashed or stopped; and the results
 * @throws CapacityError ARTILLERY_MISSING, RESULTS_UNWRITABLE
 */
export async function repeat(options: RepeatOptions): Promise<{ path: string; series: Repeat; results: Result[] }> {
  const { scenario, times, signal } = options;
  const artillery = join(dirname(resolveArtillery('artillery/package.json')), 'bin/run');
  const startedAt = new Date();
  const id = `${runId(startedAt, scenarioName(scenario))}-x${times}`;
  const folder = join(options.results, id);
  const series: Repeat = {
    schemaVersion: 1,
    id,
    scenario: scenarioName(scenario),
    startedAt: startedAt.toISOString(),
    endedAt: startedAt.toISOString(),
    times,
    runs: [],
    figures: {},
  };
  const results: Result[] = [];
  const path = join(folder, 'repeat.json');
  while (series.runs.length < times && !signal.aborted && MEASURED.includes(series.runs.at(-1)?.exitCode ?? 0)) {
    options.onRun(series.runs.length);
    makeFolder(folder);
    const known = runsIn(folder);
    const exitCode = await runArtillery(artillery, folder, options);
    const name = runsIn(folder).find((found) => !known.includes(found));
    const result = name === undefined ? undefined : readResult(join(folder, name));
    if (result) results.push(result);
    series.runs.push({
      exitCode,
      result: name === undefined ? null : join(name, RESULT),
      status: result?.verdict.status ?? null,
    });
    series.endedAt = new Date().toISOString();
    series.figures = figureSpreads(results);
    if (results.length > 0) write(path, series);
  }
  if (results.length === 0) removeEmpty(folder);
  return { path, series, results };
}

/** @returns its exit code; 128 or more if a signal killed it, as in a shell */
async function runArtillery(
  artillery: string,
  folder: string,
  { scenario, artilleryArgs, stdout, signal }: RepeatOptions,
): Promise<number> {
  const child = execa(process.execPath, [artillery, 'run', ...artilleryArgs, scenario], {
    stdio: ['inherit', stdout, 'inherit'],
    env: { CAPACITY_RESULTS: folder },
    reject: false,
  });
  // On Ctrl-C, the terminal sends the signal to Artillery as well, which acts on the first one only.
  const stop = () => child.kill('SIGINT');
  signal.addEventListener('abort', stop);
  const { exitCode } = await child;
  signal.removeEventListener('abort', stop);
  return exitCode ?? 128;
}

/** Runs with a result. `latest` is a link to one of them. A refused run removes its folder. */
function runsIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  const entries = readdirSync(folder, { withFileTypes: true });
  return entries.flatMap(({ name }) => (name !== 'latest' && existsSync(join(folder, name, RESULT)) ? [name] : []));
}

/** Keeps what a crashed run has left. */
function removeEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // It is gone already, or not empty.
  }
}

function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true });
  } catch (cause) {
    const fix = 'choose a folder that you can write to: --results <folder>';
    throw new CapacityError('RESULTS_UNWRITABLE', `cannot create ${folder}`, fix, { cause });
  }
}

/** Atomically: readers see either the old file or the new one. */
function write(path: string, series: Repeat): void {
  const temporary = `${path}.${process.pid}`;
  writeFileSync(temporary, `${JSON.stringify(repeatSchema.parse(series), null, 1)}\n`);
  renameSync(temporary, path);
}
