/** `compare A B [...]`: which figures are better or worse beyond the noise. */
import type { Command } from 'commander';
import { exitCodeOf } from '../../protocol/codes/exit-codes.ts';
import { compare, USABLE_RUNS } from '../../report/compare/compare.ts';
import { comparisonDocument } from '../../report/compare/document.ts';
import { headlineOf } from '../../report/compare/text.ts';
import { renderConsole } from '../../report/render/console.ts';
import { readRunSets } from '../series/run-sets.ts';
import { addHelp, badOption, printJson, screen, withJson } from './command.ts';

export function addCompare(program: Command): void {
  const command = program
    .command('compare')
    .description('Compares runs with the first one, figure by figure, and reports only differences beyond the noise.')
    .argument('<reference>', 'a result.json, the folder of a run, or a series')
    .argument('[others...]', 'runs to compare with it, in the same form; by default the other sides of the series')
    .action(show);
  addHelp(withJson(command), {
    examples: {
      'compare results/2026-01-02T03-04-05-5k results/latest':
        'two single runs: what is missing, and memory per connection',
      'compare results/before-5k-x5 results/after-5k-x5': 'two series: every figure',
    },
    exitCodes: {
      0: 'compared, whatever is better or worse',
      1: 'most runs of a side have no usable figures, unlike those of the reference',
      2: 'a result cannot be read',
      5: 'inconclusive: too few runs, or a figure is missing on one side',
    },
  });
}

function show(reference: string, others: string[], { json }: { json?: boolean }): void {
  const sets = [reference, ...others].flatMap(readRunSets);
  if (sets.length < 2) throw badOption(`name something to compare ${reference} with`, 'compare');
  const comparison = compare(sets);
  const usable = comparison.figures.find(({ path }) => path === USABLE_RUNS);
  const isWorse = usable?.differences.some(({ answer }) => answer === 'worse');
  const answers = sets.slice(1).map((_, index) => headlineOf(comparison, index + 1).answer);
  const answer = isWorse ? 'worse' : answers.includes('cannot-tell') ? 'cannot-tell' : 'no-difference';
  process.exitCode = exitCodeOf({ answer });
  if (json) printJson(comparison);
  else console.log(renderConsole(comparisonDocument(comparison), screen()));
}
