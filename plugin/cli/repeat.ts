/**
 * `repeat <scenario> --times n`: how much the figures of a scenario vary from run to run. `repeat A B`: whether those of two
 * differ, with runs that take turns.
 */
import { type Command, InvalidArgumentError } from 'commander';
import { CANNOT_TELL, worstExitCode } from '../../protocol/codes/exit-codes.ts';
import { type Comparison, compare } from '../../report/compare/compare.ts';
import { renderComparisonConsole, renderSpread } from '../../report/compare/console.ts';
import { headlineOf, letter } from '../../report/compare/text.ts';
import { addHelp, printJson, screen, withJson } from './command.ts';
import { type MadeSeries, repeat } from './runs/repeat-runs.ts';
import { STOPPED, untilStopped } from './runs/until-stopped.ts';

interface Options {
  times: number;
  results: string;
  json?: boolean;
  vary?: Variants;
}

/** The same environment variable with another value for each side. */
interface Variants {
  name: string;
  values: [string, string];
}

export function addRepeat(program: Command): void {
  const command = program
    .command('repeat')
    .description(
      'Runs a scenario several times and reports how much each figure varies; or two in turns, and compares them.',
    )
    .argument('<scenario>', 'an Artillery scenario, as YAML')
    .argument('[other]', 'another one: the runs take turns (A, B, B, A, …), and the comparison follows')
    .argument('[arguments...]', 'after `--`: passed to each `artillery run`')
    .option('-n, --times <n>', 'how many runs of each, at least 2', parseTimes, 5)
    .option(
      '--vary <NAME=a,b>',
      'the runs of one scenario take turns with two values of an environment variable',
      parseVariants,
    )
    .option(
      '--results <folder>',
      'where to create the folder of each series, with repeat.json and a folder for each run',
      'results',
    )
    .action(run);
  addHelp(withJson(command), {
    examples: {
      'repeat scenarios/1k.yml': 'five runs, then mean, deviation and 95 % interval of every figure',
      'repeat scenarios/5k.yml --times 3 -- --environment stock': 'with arguments for Artillery',
      'repeat before.yml after.yml': 'ten runs in turns, then whether a figure is better or worse',
      'repeat scenarios/1k.yml --vary COMPRESSION=off,on': 'one scenario, with and without',
    },
    exitCodes: {
      0: 'all runs are VALID; of two scenarios, whatever is better or worse',
      1: 'a run missed a threshold',
      2: 'a run was refused, and no further one was started',
      3: 'a run is SUSPECT',
      4: 'a run is INVALID',
      5: 'of two scenarios: inconclusive, too few runs',
      11: 'Artillery crashed, and no further run was started',
      130: 'stopped by Ctrl-C; repeat.json has the runs until then',
    },
  });
}

async function run(
  scenario: string,
  other: string | undefined,
  rest: string[],
  { times, results, json, vary }: Options,
): Promise<void> {
  // Artillery's only argument without a dash is the scenario, so the one after `--` is an option.
  const isOther = other !== undefined && !other.startsWith('-');
  const artilleryArgs = [...(other !== undefined && !isOther ? [other] : []), ...rest];
  const scenarios = isOther ? [scenario, other] : vary ? [scenario, scenario] : [scenario];
  const variants = vary && scenarios.map((_, of) => ({ [vary.name]: vary.values[of] as string }));
  await untilStopped(async (signal) => {
    const all = await repeat({
      scenarios,
      ...(variants && { variants }),
      times,
      results,
      artilleryArgs,
      stdout: json ? 2 : 1,
      signal,
      onRun: (index, of) => {
        const which = scenarios.length > 1 ? `: ${letter(of)}` : '';
        console.error(`\nRun ${index + 1} of ${times * scenarios.length}${which}`);
      },
    });
    const codes = all.flatMap(({ series }) => series.runs.map(({ exitCode }) => exitCode));
    process.exitCode = signal.aborted ? STOPPED : worstExitCode(codes);
    if (scenarios.length > 1) showComparison(all, vary, json ?? false);
    else showSpread(all[0] as MadeSeries, json ?? false);
  });
}

function showSpread({ path, series, results }: MadeSeries, json: boolean): void {
  if (json) printJson(series);
  else if (results.length > 0) console.log(`\n${renderSpread(series, screen())}\n\nSeries: ${path}`);
}

function showComparison(all: MadeSeries[], vary: Variants | undefined, json: boolean): void {
  const comparison: Comparison = compare(
    all.map(({ series, results }, of) => ({
      name: vary ? `${series.scenario}, ${vary.name}=${vary.values[of]}` : series.scenario,
      results,
    })),
  );
  if (process.exitCode === 0 && headlineOf(comparison, 1).answer === 'cannot-tell') process.exitCode = CANNOT_TELL;
  if (json) {
    printJson({ series: all.map(({ series }) => series), comparison });
    return;
  }
  if (all.every(({ results }) => results.length === 0)) return;
  const paths = all.map(({ path, results }, of) => (results.length > 0 ? `\nSeries ${letter(of)}: ${path}` : ''));
  console.log(`\n${renderComparisonConsole(comparison, screen())}\n${paths.join('')}`);
}

/** @throws InvalidArgumentError for commander */
export function parseTimes(text: string): number {
  const times = Number(text);
  if (!Number.isInteger(times) || times < 2) throw new InvalidArgumentError('Expected a whole number of at least 2.');
  return times;
}

/** @throws InvalidArgumentError for commander */
export function parseVariants(text: string): Variants {
  const [, name, a, b] = /^(\w+)=([^,]*),([^,]*)$/.exec(text) ?? [];
  if (name === undefined || a === undefined || b === undefined || a === b) {
    throw new InvalidArgumentError('Expected an environment variable with two different values: NAME=a,b');
  }
  return { name, values: [a, b] };
}
