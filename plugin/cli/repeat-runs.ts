/** Runs a scenario several times, one run after the other, and writes the spread of the figures to repeat.json. */
import { rmdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { CapacityError } from '../../protocol/errors.ts';
import { type Repeat, repeatSchema } from '../../protocol/repeat.ts';
import type { Result } from '../../protocol/result/result.ts';
import { figureSpreads } from '../../report/measured-figures.ts';
import { runId, scenarioName } from '../run/measurements.ts';
import { newFolder } from '../run/record/new-folder.ts';
import { replace } from '../run/record/replace.ts';
import { artilleryScript, type ChildRun, runAsChild, wasMeasured } from './child-run.ts';

interface RepeatOptions {
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

/**
 * @returns the series so far, whose last run may have been refused, crashed or stopped; and the results
 * @throws CapacityError ARTILLERY_MISSING, RESULTS_UNWRITABLE
 */
export async function repeat(options: RepeatOptions): Promise<{ path: string; series: Repeat; results: Result[] }> {
  const { scenario, times, artilleryArgs: args, stdout, signal } = options;
  const artillery = artilleryScript();
  const stdio: ChildRun['stdio'] = ['inherit', stdout, 'inherit'];
  const startedAt = new Date();
  const folder = makeFolder(options.results, `${runId(startedAt, scenarioName(scenario))}-x${times}`);
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
  const results: Result[] = [];
  const path = join(folder, 'repeat.json');
  while (series.runs.length < times && !signal.aborted && wasMeasured(series.runs.at(-1)?.exitCode ?? 0)) {
    options.onRun(series.runs.length);
    const {
      exitCode,
      path: found,
      result,
    } = await runAsChild({
      artillery,
      scenario,
      folder,
      args,
      env: {},
      stdio,
      signal,
    });
    if (result) results.push(result);
    series.runs.push({ exitCode, result: found ?? null, status: result?.verdict.status ?? null });
    series.endedAt = new Date().toISOString();
    series.figures = figureSpreads(results);
    if (results.length > 0) write(path, series);
  }
  if (results.length === 0) removeEmpty(folder);
  return { path, series, results };
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
