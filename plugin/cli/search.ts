/** `search <scenario>`: finds the highest load that a deployment sustains. */
import type { Command } from 'commander';
import { z } from 'zod';
import { exitCodeOfOutcome, worstExitCode } from '../../protocol/codes/exit-codes.ts';
import type { SearchResult } from '../../protocol/documents/search-schema.ts';
import { renderConsole } from '../../report/render/console.ts';
import { searchQuestionText } from '../../report/search/search-page.ts';
import { runSeriesOnTerminal, seriesEndText } from '../series/series.ts';
import { addHelp, addJsonOption, parseOptions, printJson, terminalFormat } from './command.ts';
import { addHostsOptions, conductCommandLine, hostsShape } from './hosts-options.ts';
import type { SearchOptions } from './search/runs.ts';

const ownSchema = z.looseObject({ ...hostsShape, results: z.string(), json: z.boolean().optional() });

/**
 * Result of the check of this machine, in a search with several generator hosts. It has no limits, because each host
 * checks its own.
 */
const noLimits = async () => ({ fits: true, highest: null, limits: [] });

export function addSearch(program: Command): void {
  const command = program
    .command('search')
    .description(
      'Finds the highest level that a deployment holds: raises the level until it breaks, repeats it after a rest, and bisects.',
    )
    .argument('<scenario>', 'an Artillery scenario, as YAML')
    .requiredOption('--vary <what>', 'connections, rate, broadcastsPerSec or bytes')
    .option(
      '--until <conditions...>',
      'a level breaks when its result meets one of these: "latency.oneWayMs.p99 > 500"',
    )
    .option('--from <level>', 'first level; by default that of the scenario')
    .option('--to <level>', 'highest level; by default as far as the machine allows')
    .option('--factor <factor>', 'from one level to the next (default: 2)')
    .option('--tolerance <percent>', 'how far the answer may be off (default: 5)')
    .option('-n, --times <n>', 'runs at both levels of the answer: that held, and that broke (default: 3)')
    .option('--rest <seconds>', 'pause after a run that broke (default: 30)')
    .option('--headroom <percent>', 'share of each limit that the table of machines leaves free (default: 30)')
    .option('-e, --environment <name>', 'one of the scenario’s config.environments')
    .option('--results <folder>', 'folder in which the runs are created or resumed', 'results')
    .action(run);
  addHelp(addJsonOption(addHostsOptions(command)), {
    examples: {
      'search scenarios/5k.yml --vary connections': 'how many connections does this deployment hold?',
      'search scenarios/5k.yml --vary rate \\\n    --until "connections.connectMs.p99 > 1000"':
        'how fast may they connect?',
      'search scenarios/32k.yml --vary connections \\\n    --hosts 4 --on ssh:hosts.txt': 'with load from four hosts',
    },
    exitCodes: {
      0: 'an answer, or the highest level held',
      1: 'no level held, or what held before did not hold again',
      2: 'the search was refused, or one of its runs',
      3: 'the generator or its machine was the limit',
      11: 'Artillery crashed in one of the runs',
      130: 'stopped by Ctrl-C; the same command resumes the search',
    },
  });
}

async function run(path: string, given: object): Promise<void> {
  const { results, json, hosts, on, listen, secret, ...options } = parseOptions(ownSchema, given, 'search');
  const conduct = conductCommandLine({ hosts, on, listen, secret }, 'search');
  // The module is imported only when needed: charts and the engine's steps load slowly.
  const { searchSeries } = await import('./search/runs.ts');
  const series = await searchSeries(path, options as SearchOptions, results, conduct && noLimits);
  console.error(searchQuestionText(series.plan));
  const { document, runs } = await runSeriesOnTerminal(series, conduct);
  process.exitCode = exitCodeOfSearch(document);
  if (json) printJson(document);
  else console.log(seriesEndText(series, renderConsole(series.reportOf(document, runs), terminalFormat())));
}

function exitCodeOfSearch({ answer: { end }, runs }: SearchResult): number {
  if (end === 'error') return worstExitCode(runs.slice(-1).map(({ exitCode }) => exitCode));
  return exitCodeOfOutcome(end === null ? 'stopped' : { search: end });
}
