/**
 * `repeat <scenario> --times n`: how much the figures of a scenario vary from run to run. `repeat A B`: whether those of two
 * differ, with runs that take turns.
 */
import { rmSync } from 'node:fs';
import { basename } from 'node:path';
import type { Command } from 'commander';
import { z } from 'zod';
import { EXIT_CODES, exitCodeOf } from '../../protocol/codes/exit-codes.ts';
import type { Plan, Study } from '../../protocol/documents/study.ts';
import type { Comparison } from '../../report/compare/compare.ts';
import { endOf } from '../../report/compare/decision.ts';
import { wouldSee } from '../../report/compare/detectable.ts';
import { comparisonDocument, seriesDocument } from '../../report/compare/document.ts';
import type { Document } from '../../report/model/document.ts';
import { renderConsole } from '../../report/render/console.ts';
import { type MeasuredRun, questionsOf } from '../../report/study/summarize.ts';
import { runId, scenarioName } from '../run/measurements/run-id.ts';
import { artilleryScript } from '../series/artillery.ts';
import { newSeriesFolder } from '../series/folder.ts';
import { exitCodeOfRuns, measuredRuns, plannedSeries } from '../series/planned.ts';
import { endText, makeSeries } from '../series/series.ts';
import { addHelp, badOption, parseOptions, printJson, RUN_CODES, screen, withJson } from './command.ts';
import { shareSchema } from './margin.ts';
import { scenarioHash } from './scenario.ts';

export const timesSchema = z.coerce.number('expected a number').int().min(2, 'expected 2 or more');

export const varySchema = z.string().transform((text, context): Plan['vary'] => {
  const [, name, a, b] = /^(\w+)=([^,]*),([^,]*)$/.exec(text) ?? [];
  if (name !== undefined && a !== undefined && b !== undefined && a !== b) return { [name]: [a, b] };
  context.addIssue('expected an environment variable with two different values: NAME=a,b');
  return z.NEVER;
});

const optionsSchema = z.object({
  times: timesSchema.optional(),
  detect: shareSchema.optional(),
  vary: varySchema.optional(),
  results: z.string(),
  json: z.boolean().optional(),
});

/** Names the scenario where a series has several. */
const SCENARIO = 'scenario';

const TIMES = 5;
const MOST_TIMES = 20;

export function addRepeat(program: Command): void {
  const command = program
    .command('repeat')
    .description(
      'Runs a scenario several times and reports how much each figure varies; or two in turns, and compares them.',
    )
    .argument('<scenario>', 'an Artillery scenario, as YAML')
    .argument('[other]', 'another one: the runs take turns (A, B, B, A, …), and the comparison follows')
    .argument('[arguments...]', 'after `--`: passed to each `artillery run`')
    .option(
      '-n, --times <n>',
      `how many runs of each, at least 2 (default: ${TIMES}; with --detect, at most ${MOST_TIMES})`,
    )
    .option(
      '--detect <share>',
      'with two scenarios: goes on until a change of that size, such as 20%, would show; also the margin',
    )
    .option('--vary <NAME=a,b>', 'the runs of one scenario take turns with two values of an environment variable')
    .option('--results <folder>', 'where to create the folder of the series', 'results')
    .action(run);
  addHelp(withJson(command), {
    examples: {
      'repeat scenarios/1k.yml': 'five runs, then mean, deviation and 95 % interval of every figure',
      'repeat scenarios/5k.yml --times 3 -- --environment staging': 'with arguments for Artillery',
      'repeat before.yml after.yml': 'ten runs in turns, then whether a figure is better or worse',
      'repeat before.yml after.yml --detect 20%': 'as many runs as it takes to see a change of 20 %',
      'repeat scenarios/1k.yml --vary COMPRESSION=off,on': 'one scenario, with and without',
    },
    exitCodes: {
      ...RUN_CODES,
      1: `${RUN_CODES[1]}; with two scenarios, also: a figure of the second is worse`,
      5: 'with two scenarios: inconclusive; with --detect, it might have missed such a change',
      130: 'stopped by Ctrl-C; repeat.json has the runs until then',
    },
  });
}

async function run(scenario: string, other: string | undefined, rest: string[], given: object): Promise<void> {
  const { detect, times, results, json, vary } = parseOptions(optionsSchema, given, 'repeat');
  // Artillery's only argument without a dash is the scenario, so the one after `--` is an option.
  const isOther = other !== undefined && !other.startsWith('-');
  const args = [...(other !== undefined && !isOther ? [other] : []), ...rest];
  if (isOther && vary) throw badOption('--vary: give it or another scenario, not both', 'repeat');
  const varied = isOther ? { [SCENARIO]: [scenario, other] } : (vary ?? {});
  if (detect !== undefined && Object.keys(varied).length === 0) {
    throw badOption('--detect: name another scenario, or --vary, to compare with', 'repeat');
  }
  const most = times ?? (detect === undefined ? TIMES : MOST_TIMES);
  const asked = { scenario, vary: varied, times: most, detect, results, args };
  const { folder, study, runs, exitCode, report } = await repeat(asked);
  const comparison = comparisonOf(study.plan, runs);
  process.exitCode = exitCode;
  if (exitCode === 0 && comparison) process.exitCode = exitCodeOf(endOfSeries(comparison, detect));
  if (json) return printJson(study);
  if (runs.every(({ result }) => result === undefined)) return;
  console.log(endText({ kind: 'repeat', folder }, renderConsole(report, screen())));
}

/** @returns undefined where nothing varies */
function comparisonOf(plan: Plan, runs: MeasuredRun[]): Comparison | undefined {
  return questionsOf(plan, runs)[0]?.contexts[0]?.comparison;
}

function reportOf(study: Study, runs: MeasuredRun[]): Document {
  const comparison = comparisonOf(study.plan, runs);
  return comparison ? comparisonDocument(comparison) : seriesDocument(study, runs);
}

/** Without a difference, the runs must have been enough to see the change that `detect` asks for. */
function endOfSeries(comparison: Comparison, detect: number | undefined): ReturnType<typeof endOf> {
  const end = endOf(comparison);
  const isSame = 'answer' in end && end.answer === 'no-difference';
  return isSame && detect !== undefined && !wouldSee(comparison, 1, detect) ? { answer: 'inconclusive' } : end;
}

/** `scenario` is the first one, if `vary` has several; `args` are further ones of `artillery run`. */
interface RepeatOptions extends Pick<Plan, 'scenario' | 'vary' | 'detect'> {
  times: number;
  results: string;
  args: string[];
}

/**
 * The first run that does not come to its end is the last one. A series whose runs were all refused leaves no folder.
 * @throws CapacityError NOT_INSTALLED, FILE_UNREADABLE, CONFIG_INVALID, FILE_UNWRITABLE
 */
export async function repeat({ scenario, vary, times, detect, results, args }: RepeatOptions) {
  // Without Artillery, no folder is made.
  artilleryScript();
  const plan: Plan = { scenario, vary, servers: {}, except: [], repeat: times, detect, seed: 1 };
  const scenarios = (vary[SCENARIO] ?? [scenario]).map(String);
  const hash = await scenarioHash(...scenarios);
  const name = scenarios.map(scenarioName).join('-');
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
    reportOf,
    ...(detect !== undefined && {
      isEnough: (made) => {
        const comparison = comparisonOf(plan, made);
        return comparison !== undefined && wouldSee(comparison, 1, detect);
      },
    }),
  });
  const { document: study, runs, isStopped } = await makeSeries(series);
  const exitCode = isStopped ? exitCodeOf('stopped') : exitCodeOfRuns(runs);
  if (study.runs.every(({ exitCode }) => exitCode === EXIT_CODES.refused)) rmSync(folder, { recursive: true });
  return { folder, study, runs: measuredRuns(runs), isStopped, exitCode, report: series.reportOf(study, runs) };
}
