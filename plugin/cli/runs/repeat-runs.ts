/** Runs one or two scenarios several times, one run after the other, and writes the spread of the figures to repeat.json. */
import { rmdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { type Repeat, repeatSchema } from '../../../protocol/documents/repeat.ts';
import { CapacityError } from '../../../protocol/errors.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { figureSpreads } from '../../../report/figures/measured-figures.ts';
import { runId, scenarioName } from '../../run/measurements/run-id.ts';
import { newFolder } from '../../run/record/new-folder.ts';
import { replace } from '../../run/record/replace.ts';
import { artilleryScript, type ChildRun, runAsChild, wasMeasured } from './child-run.ts';

export interface RepeatOptions {
  /** Paths of the scenarios: one, or two whose runs take turns. */
  scenarios: string[];
  /** Environment variables of each scenario's runs, where they differ. */
  variants?: Record<string, string>[];
  /** Of each scenario. */
  times: number;
  /** Where to create the folder of each series. */
  results: string;
  /** Further arguments of `artillery run`. */
  artilleryArgs: string[];
  /** File descriptor for Artillery's standard output. */
  stdout: 1 | 2;
  /** Ends the current run as Ctrl-C would, and the series. */
  signal: AbortSignal;
  /** @param index of all runs @param of which scenario */
  onRun(index: number, of: number): void;
}

export interface MadeSeries {
  /** Of its repeat.json. */
  path: string;
  series: Repeat;
  results: Result[];
}

/**
 * @returns for each scenario the series so far, whose last run may have been refused, crashed or stopped; and its results
 * @throws CapacityError ARTILLERY_MISSING, RESULTS_UNWRITABLE
 */
export async function repeat(options: RepeatOptions): Promise<MadeSeries[]> {
  const { scenarios, variants = [], times, artilleryArgs: args, stdout, signal } = options;
  const artillery = artilleryScript();
  const stdio: ChildRun['stdio'] = ['inherit', stdout, 'inherit'];
  const all = scenarios.map((scenario, of) => newSeries(options, scenario, of));
  let lastExitCode = 0;
  for (const [index, of] of turns(scenarios.length, times).entries()) {
    if (signal.aborted || !wasMeasured(lastExitCode)) break;
    options.onRun(index, of);
    const { path, series, results } = all[of] as MadeSeries;
    const run = await runAsChild({
      artillery,
      scenario: scenarios[of] as string,
      folder: dirname(path),
      args,
      env: variants[of] ?? {},
      stdio,
      signal,
    });
    lastExitCode = run.exitCode;
    if (run.result) results.push(run.result);
    series.runs.push({
      exitCode: run.exitCode,
      result: run.path ?? null,
      status: run.result?.verdict.status ?? null,
    });
    series.endedAt = new Date().toISOString();
    series.figures = figureSpreads(results);
    if (results.length > 0) write(path, series);
  }
  for (const { path, results } of all) if (results.length === 0) removeEmpty(dirname(path));
  return all;
}

/**
 * Which scenario each run is of: 0, 1, 1, 0, 0, 1, … What drifts over the whole time (the machine's temperature, its disk, its
 * neighbours) then falls on both alike.
 */
export function turns(scenarios: number, times: number): number[] {
  return Array.from({ length: times }, (_, round) => {
    const each = Array.from({ length: scenarios }, (_, of) => of);
    return round % 2 === 0 ? each : each.reverse();
  }).flat();
}

function newSeries({ scenarios, times, results }: RepeatOptions, scenario: string, of: number): MadeSeries {
  const startedAt = new Date();
  const letter = scenarios.length > 1 ? `-${String.fromCharCode(97 + of)}` : '';
  const folder = makeFolder(results, `${runId(startedAt, scenarioName(scenario))}${letter}-x${times}`);
  const series: Repeat = {
    schemaVersion: 1,
    id: basename(folder),
    scenario: scenarioName(scenario),
    startedAt: startedAt.toISOString(),
    endedAt: startedAt.toISOString(),
    times,
    runs: [],
    figures: {},
  };
  return { path: join(folder, 'repeat.json'), series, results: [] };
}

/** Keeps what a crashed run has left. */
function removeEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // It is gone already, or not empty.
  }
}

/** @returns the path of a folder of its own, also for a series that starts in the same second as another */
function makeFolder(results: string, name: string): string {
  try {
    return newFolder(results, name);
  } catch (cause) {
    const fix = 'choose a folder that you can write to: --results <folder>';
    throw new CapacityError('RESULTS_UNWRITABLE', `cannot create ${join(results, name)}`, fix, { cause });
  }
}

function write(path: string, series: Repeat): void {
  const text = `${JSON.stringify(repeatSchema.parse(series), null, 1)}\n`;
  replace(path, (temporary) => writeFileSync(temporary, text));
}
