/** `repeat <scenario> --times n`: how much the figures of a scenario vary from run to run. */
import { type Command, InvalidArgumentError } from 'commander';
import { worstExitCode } from '../../protocol/codes/exit-codes.ts';
import { renderSpread } from '../../report/compare/console.ts';
import { addHelp, printJson, screen, withJson } from './command.ts';
import { repeat } from './repeat-runs.ts';
import { STOPPED, untilStopped } from './until-stopped.ts';

interface Options {
  times: number;
  results: string;
  json?: boolean;
}

export function addRepeat(program: Command): void {
  const command = program
    .command('repeat')
    .description('Runs a scenario several times and reports how much each figure varies.')
    .argument('<scenario>', 'an Artillery scenario, as YAML')
    .argument('[artillery-arguments...]', 'after `--`: passed to each `artillery run`')
    .option('-n, --times <n>', 'how many runs, at least 2', parseTimes, 5)
    .option(
      '--results <folder>',
      'where to create the folder of the series, with repeat.json and a folder for each run',
      'results',
    )
    .action(run);
  addHelp(withJson(command), {
    examples: {
      'repeat scenarios/1k.yml': 'five runs, then mean, deviation and 95 % interval of every figure',
      'repeat scenarios/5k.yml --times 3 -- --environment stock': 'with arguments for Artillery',
    },
    exitCodes: {
      0: 'all runs are VALID',
      1: 'a run missed a threshold',
      2: 'a run was refused, and no further one was started',
      3: 'a run is SUSPECT',
      4: 'a run is INVALID',
      11: 'Artillery crashed, and no further run was started',
      130: 'stopped by Ctrl-C; repeat.json has the runs until then',
    },
  });
}

async function run(scenario: string, artilleryArgs: string[], { times, results, json }: Options): Promise<void> {
  await untilStopped(async (signal) => {
    const {
      path,
      series,
      results: found,
    } = await repeat({
      scenario,
      times,
      results,
      artilleryArgs,
      stdout: json ? 2 : 1,
      signal,
      onRun: (index) => console.error(`\nRun ${index + 1} of ${times}`),
    });
    const codes = series.runs.map(({ exitCode }) => exitCode);
    process.exitCode = signal.aborted ? STOPPED : worstExitCode(codes);
    if (json) printJson(series);
    else if (found.length > 0) console.log(`\n${renderSpread(series, screen())}\n\nSeries: ${path}`);
  });
}

/** @throws InvalidArgumentError for commander */
export function parseTimes(text: string): number {
  const times = Number(text);
  if (!Number.isInteger(times) || times < 2) throw new InvalidArgumentError('Expected a whole number of at least 2.');
  return times;
}
