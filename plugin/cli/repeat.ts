/**
 * `repeat <scenario> --times n`: how much the figures of a scenario vary from run to run. `repeat A B`: whether those of two
 * differ, with runs that take turns.
 */
import { rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Command } from 'commander';
import { z } from 'zod';
import { CANNOT_TELL, EXIT_CODES, STOPPED } from '../../protocol/codes/exit-codes.ts';
import type { Plan, Study } from '../../protocol/documents/study.ts';
import { comparisonDocument, seriesDocument } from '../../report/compare/document.ts';
import { headlineOf } from '../../report/compare/text.ts';
import { renderConsole } from '../../report/render/console.ts';
import { type MeasuredRun, questionsOf } from '../../report/study/summarize.ts';
import { runId, scenarioName } from '../run/measurements/run-id.ts';
import { newSeriesFolder } from '../series/folder.ts';
import { exitCodeOf, measuredRuns, plannedSeries } from '../series/planned.ts';
import { artilleryScript } from '../series/run.ts';
import { runSeries } from '../series/series.ts';
import { untilStopped } from '../series/until-stopped.ts';
import { addHelp, badOption, parseOptions, printJson, RUN_CODES, screen, withJson } from './command.ts';
import { scenarioHash } from './scenario.ts';

export const timesSchema = z.coerce.number('expected a number').int().min(2, 'expected 2 or more');

/** `NAME=a,b` */
export const varySchema = z.string().transform((text, context): Plan['vary'] => {
  const [, name, a, b] = /^(\w+)=([^,]*),([^,]*)$/.exec(text) ?? [];
  if (name !== undefined && a !== undefined && b !== undefined && a !== b) return { [name]: [a, b] };
  context.addIssue('expected an environment variable with two different values: NAME=a,b');
  return z.NEVER;
});

const optionsSchema = z.object({
  times: timesSchema,
  vary: varySchema.optional(),
  results: z.string(),
  json: z.boolean().optional(),
});

/** Names the scenario where a series has several. */
const SCENARIO = 'scenario';

export function addRepeat(program: Command): void {
  const command = program
    .command('repeat')
    .description(
      'Runs a scenario several times and reports how much each figure varies; or two in turns, and compares them.',
    )
    .argument('<scenario>', 'an Artillery scenario, as YAML')
    .argument('[other]', 'another one: the runs take turns (A, B, B, A, …), and the comparison follows')
    .argument('[arguments...]', 'after `--`: passed to each `artillery run`')
    .option('-n, --times <n>', 'how many runs of each, at least 2', '5')
    .option('--vary <NAME=a,b>', 'the runs of one scenario take turns with two values of an environment variable')
    .option('--results <folder>', 'where to create the folder of the series', 'results')
    .action(run);
  addHelp(withJson(command), {
    examples: {
      'repeat scenarios/1k.yml': 'five runs, then mean, deviation and 95 % interval of every figure',
      'repeat scenarios/5k.yml --times 3 -- --environment stock': 'with arguments for Artillery',
      'repeat before.yml after.yml': 'ten runs in turns, then whether a figure is better or worse',
      'repeat scenarios/1k.yml --vary COMPRESSION=off,on': 'one scenario, with and without',
    },
    exitCodes: {
      ...RUN_CODES,
      5: 'of two scenarios: inconclusive, too few runs',
      130: 'stopped by Ctrl-C; repeat.json has the runs until then',
    },
  });
}

async function run(scenario: string, other: string | undefined, rest: string[], given: object): Promise<void> {
  const { times, results, json, vary } = parseOptions(optionsSchema, given, 'repeat');
  // Artillery's only argument without a dash is the scenario, so the one after `--` is an option.
  const isOther = other !== undefined && !other.startsWith('-');
  const args = [...(other !== undefined && !isOther ? [other] : []), ...rest];
  if (isOther && vary) throw badOption('--vary: give it or another scenario, not both', 'repeat');
  const varied = isOther ? { [SCENARIO]: [scenario, other] } : (vary ?? {});
  await untilStopped(async (signal) => {
    const { folder, study, runs } = await repeat({ scenario, vary: varied, times, results, args }, signal);
    const [question] = questionsOf(study.plan, runs);
    const comparison = question?.contexts[0]?.comparison;
    process.exitCode = signal.aborted ? STOPPED : exitCodeOf(study.runs);
    if (process.exitCode === 0 && comparison && headlineOf(comparison, 1).answer === 'cannot-tell') {
      process.exitCode = CANNOT_TELL;
    }
    if (json) return printJson(study);
    if (runs.every(({ result }) => result === undefined)) return;
    const document = comparison ? comparisonDocument(comparison) : seriesDocument(study);
    console.log(`\n${renderConsole(document, screen())}`);
    console.log(`\nSeries: ${join(folder, 'repeat.json')}`);
  });
}

export interface RepeatOptions {
  /** Path of the scenario; of the first one, if `vary` has several. */
  scenario: string;
  /** Environment variables, or scenarios. */
  vary: Plan['vary'];
  /** Of each combination. */
  times: number;
  /** Where to create the folder of the series. */
  results: string;
  /** Further arguments of `artillery run`. */
  args: string[];
}

/**
 * The first run that does not come to its end is the last one. A series whose runs were all refused leaves no folder.
 * @throws CapacityError NOT_INSTALLED, FILE_UNREADABLE, FILE_UNWRITABLE
 */
export async function repeat(
  { scenario, vary, times, results, args }: RepeatOptions,
  signal: AbortSignal,
): Promise<{ folder: string; study: Study; runs: MeasuredRun[] }> {
  const artillery = artilleryScript();
  const plan = { scenario, vary, servers: {}, except: [], repeat: times, seed: 1 };
  const hash = scenarioHash(scenario);
  const name = (vary[SCENARIO] ?? [scenario]).map((path) => scenarioName(String(path))).join('-');
  const folder = newSeriesFolder(results, `${runId(new Date(), name)}-x${times}`);
  const series = plannedSeries({
    kind: 'repeat',
    folder,
    name: basename(folder),
    title: '',
    plan,
    scenarioHash: hash,
    endsWithFailure: true,
    commandOf: ({ [SCENARIO]: path = scenario, ...variables }) => {
      const env = Object.fromEntries(Object.entries(variables).map(([key, value]) => [key, String(value)]));
      return { scenario: String(path), args, overrides: {}, env };
    },
    changesSince: () => [],
    pagesOf: () => ({}),
  });
  const { document: study, runs } = await runSeries(series, { artillery, signal, say: console.error });
  if (study.runs.every(({ exitCode }) => exitCode === EXIT_CODES.refused)) rmSync(folder, { recursive: true });
  return { folder, study, runs: measuredRuns(runs) };
}
