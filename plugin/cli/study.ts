/**
 * `study <file>`: repeats runs with every combination of values (levels) of the varied settings. Shows the effect of
 * each level, and how much repeated runs vary.
 */
import type { Command } from 'commander';
import { z } from 'zod';
import { escapeEachLine } from '../../protocol/base/printable.ts';
import { exitCodeOfOutcome } from '../../protocol/codes/exit-codes.ts';
import { renderConsoleSummary } from '../../report/render/console.ts';
import { runSeriesOnTerminal, seriesEndText } from '../series/series.ts';
import { exitCodeOfStudy } from '../series/study-series.ts';
import {
  addHelp,
  addJsonOption,
  invalidOptionError,
  parseOptions,
  percentageSchema,
  printJson,
  terminalFormat,
} from './command.ts';
import { addHostsOptions, conductCommandLine, hostsShape } from './hosts-options.ts';

const varySchema = z
  .array(
    z.string().transform((text, context): [name: string, levels: string[]] => {
      const [, name, levels] = /^([A-Za-z][\w.]*)=(.*,.*)$/s.exec(text) ?? [];
      if (name !== undefined && levels !== undefined) return [name, levels.split(',')];
      context.addIssue('expected a setting with its levels: NAME=a,b');
      return z.NEVER;
    }),
  )
  .default([]);

const optionsSchema = z.object({
  vary: varySchema,
  times: z.coerce.number('expected a number').int().min(1, 'expected 1 or more').optional(),
  detect: percentageSchema.optional(),
  environment: z.string().optional(),
  ...hostsShape,
  results: z.string(),
  json: z.boolean().optional(),
});

export function addStudy(program: Command): void {
  const command = program
    .command('study')
    .description(
      'Runs a scenario several times, or every combination of settings, and reports which differences exceed the noise.',
    )
    .argument('<file>', 'an Artillery scenario, or a study as YAML: those of the pack are in scenarios/studies/')
    .argument('[other]', 'a second scenario: the runs take turns (A, B, B, A, …)')
    .argument('[arguments...]', 'after `--`: passed to each `artillery run`')
    .option('--vary <NAME=a,b...>', 'environment variables or options of the plugin, with their levels')
    .option('-n, --times <n>', 'runs of each combination (default: the study’s `repeat`, 5, or with --detect up to 20)')
    .option('--detect <share>', 'goes on until a change of that size, such as 20%, would show; also the margin')
    .option('-e, --environment <name>', 'one of the scenario’s config.environments')
    .option('--results <folder>', 'folder in which the runs are created or resumed', 'results')
    .action(run);
  addHelp(addJsonOption(addHostsOptions(command)), {
    examples: {
      'study scenarios/1k.yml': 'five runs: mean, deviation and 95 % interval of every figure',
      'study before.yml after.yml --detect 20%': 'two scenarios in turns, with as many runs as it takes',
      'study scenarios/1k.yml --vary COMPRESSION=off,on': 'one scenario, with and without',
      'study scenarios/5k.yml -n 3 -- --quiet': 'with an argument for Artillery',
      'study scenarios/32k.yml --hosts 4 --on ssh:hosts.txt': 'with load from four hosts',
      'study scenarios/studies/tls.yml': 'a study of the pack',
    },
    exitCodes: {
      0: 'all runs are VALID; no level is worse, and no figure that decides is inconclusive',
      1: 'a run missed a threshold, or a level is worse than the first',
      2: 'refused, or one of the runs was',
      3: 'a run is SUSPECT',
      4: 'a run is INVALID',
      5: 'inconclusive; with --detect, the runs might have missed such a change',
      11: 'Artillery crashed in one of the runs',
      130: 'stopped by Ctrl-C; the same command resumes the study',
    },
  });
}

async function run(path: string, other: string | undefined, rest: string[], given: object): Promise<void> {
  const { vary, environment, results, json, hosts, on, listen, secret, ...rules } = parseOptions(
    optionsSchema,
    given,
    'study',
  );
  const conduct = conductCommandLine({ hosts, on, listen, secret }, 'study');
  // The modules are imported only when needed: charts and the server's settings load slowly.
  const { readStudy, seriesOfStudy } = await import('./study/read-study.ts');
  const { parseLevel } = await import('./study/levels.ts');
  // If `other` begins with a dash, it is not a scenario, but the first argument for Artillery after `--`.
  const isOption = other?.startsWith('-') ?? false;
  if (conduct && (isOption || rest.length > 0))
    throw invalidOptionError('--hosts: takes no arguments for Artillery', 'study');
  const asked = await readStudy(path, {
    ...{ ...rules, hosts },
    ...(!isOption && { other }),
    vary: Object.fromEntries(vary.map(([name, levels]) => [name, levels.map((level) => parseLevel(name, level))])),
    args: [
      ...(environment === undefined ? [] : ['--environment', environment]),
      ...(isOption ? [other as string] : []),
      ...rest,
    ],
  });
  const series = seriesOfStudy(asked, results);
  console.error(escapeEachLine(`${asked.title || asked.name}\n${asked.plan.scenario}`));
  const { document, runs, isStopped } = await runSeriesOnTerminal(series, conduct);
  process.exitCode = isStopped ? exitCodeOfOutcome('stopped') : exitCodeOfStudy(document.plan, runs);
  if (json) return printJson(document);
  const questions = Object.values(document.plan.vary).filter(({ length }) => length > 1);
  // A study that varies several settings would need too many tables for a terminal.
  const sections = ['missing', 'doubts', 'spread', ...(questions.length === 1 ? ['question-1'] : [])];
  console.log(seriesEndText(series, renderConsoleSummary(series.reportOf(document, runs), sections, terminalFormat())));
}
