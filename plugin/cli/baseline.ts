/** `baseline save | check`: saves a result, and compares later ones with it, for CI. */
import type { Command } from 'commander';
import { EXIT_CODES } from '../../protocol/codes/exit-codes.ts';
import { CapacityError } from '../../protocol/errors.ts';
import { type Comparison, compare, type RunSet } from '../../report/compare/compare.ts';
import { renderComparisonConsole } from '../../report/compare/console.ts';
import { isUsable } from '../../report/measured-figures.ts';
import { readBaseline, writeBaseline } from './baseline-file.ts';
import { addHelp, printJson, screen, withJson } from './command.ts';
import { readRunSet } from './run-sets.ts';

interface Options {
  name: string;
  file: string;
  json?: boolean;
}

const RESULT = 'a result.json, the folder of a run, or the folder of a `repeat`';

export function addBaseline(program: Command): void {
  const baseline = program
    .command('baseline')
    .description('Saves results in your repository, and checks later ones against them.');
  const add = (name: string) =>
    withJson(
      baseline
        .command(name)
        .argument('<result>', RESULT)
        .option('--name <name>', 'name of the baseline in the file', 'main')
        .option('--file <path>', 'the file of baselines', 'capacity-baseline.json'),
    );
  addHelp(add('save').description('Saves a result as a baseline for later ones.').action(save), {
    examples: {
      'baseline save results/2026-01-02T03-04-05-5k-x5':
        'five repeats, so that a later run can be compared in every figure',
      'baseline save results/latest --name release-2': 'several baselines in one file',
    },
    exitCodes: { 0: 'saved', 2: 'the result cannot be read or is INVALID, or the file cannot be written' },
  });
  addHelp(add('check').description('Compares a result with the baseline.').action(check), {
    examples: {
      'baseline check results/latest': 'in CI, after the run',
      'baseline check results/latest --name release-2 --json': 'for a script',
    },
    exitCodes: {
      0: 'no figure is worse beyond the noise',
      1: 'a figure is worse',
      2: 'there is no such baseline, or the load or the machine is different',
      4: 'the result is INVALID',
    },
  });
}

function save(path: string, { name, file, json }: Options): void {
  const { results } = readRunSet(path);
  if (!results.every(isUsable)) {
    throw new CapacityError(
      'BASELINE_INVALID',
      `${path} is INVALID`,
      'measure again; report.html beside the result shows the reasons',
    );
  }
  writeBaseline(file, name, results);
  if (json) {
    printJson({ file, name, runs: results.length });
    return;
  }
  console.log(`Saved as "${name}" in ${file}: ${results.length === 1 ? 'one run' : `${results.length} runs`}.`);
  if (results.length === 1) {
    console.log('A single run does not show how much runs vary. To check most figures, save repeats instead:');
    console.log('  npx socketio-capacity repeat <scenario>');
  }
}

function check(path: string, { name, file, json }: Options): void {
  const reference: RunSet = { name: `baseline "${name}"`, results: readBaseline(file, name) };
  const checked = readRunSet(path);
  const comparison = compare([reference, checked]);
  const worse = comparison.figures.filter(({ differences }) => differences.some(({ answer }) => answer === 'worse'));
  const usable = checked.results.some(isUsable);
  if (usable) requireSameConditions(comparison);
  process.exitCode = !usable ? EXIT_CODES.invalid : worse.length > 0 ? EXIT_CODES.worse : 0;
  if (json) {
    printJson({ worse: worse.map(({ path: figure }) => figure), ...comparison });
    return;
  }
  console.log(renderComparisonConsole(comparison, screen()));
  console.log(
    `\n${verdictOf(
      usable,
      worse.map(({ title }) => title),
      name,
    )}`,
  );
}

/** @throws CapacityError BASELINE_NOT_COMPARABLE */
function requireSameConditions({ mismatches }: Comparison): void {
  const other = mismatches.filter(({ aspect }) => aspect === 'load' || aspect === 'machine');
  if (other.length === 0) return;
  const lines = other.map(({ aspect, name, values }) => `  different ${aspect}: ${name}: ${values.join(', now ')}`);
  throw new CapacityError(
    'BASELINE_NOT_COMPARABLE',
    `the baseline was measured under different conditions, so the figures cannot be compared\n${lines.join('\n')}`,
    'measure under the same conditions, or save a new baseline: npx socketio-capacity baseline save <result>',
  );
}

function verdictOf(usable: boolean, worse: string[], name: string): string {
  if (!usable) return 'INVALID: the figures cannot be trusted, so they were not checked.';
  if (worse.length > 0) return `WORSE than baseline "${name}": ${worse.join(', ')}.`;
  return `No figure is worse than baseline "${name}" beyond the noise.`;
}
