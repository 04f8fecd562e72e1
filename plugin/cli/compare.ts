/** `compare A B [...]`: which figures are better or worse beyond the noise. */
import type { Command } from 'commander';
import { z } from 'zod';
import { exitCodeOf } from '../../protocol/codes/exit-codes.ts';
import { compare } from '../../report/compare/compare.ts';
import { endOf } from '../../report/compare/decision.ts';
import { comparisonDocument } from '../../report/compare/document.ts';
import { renderConsole } from '../../report/render/console.ts';
import { readRunSets } from '../series/run-sets.ts';
import { addHelp, badOption, parseOptions, printJson, screen, withJson } from './command.ts';
import { COMPARED_CODES, shareSchema, withMargin } from './margin.ts';

export function addCompare(program: Command): void {
  const command = program
    .command('compare')
    .description('Compares runs with the first one, figure by figure, and reports only differences beyond the noise.')
    .argument('<reference>', 'a result.json, the folder of a run, or a series')
    .argument('[others...]', 'runs to compare with it, in the same form; by default the other sides of the series')
    .action(show);
  addHelp(withMargin(withJson(command)), {
    examples: {
      'compare results/2026-01-02T03-04-05-5k results/latest':
        'two single runs: what is missing, and memory per connection',
      'compare results/before-5k-x5 results/after-5k-x5': 'two series: every figure',
      'compare results/before-5k-x5 results/latest --margin 20%': 'up to 20 % is no difference',
    },
    exitCodes: COMPARED_CODES,
  });
}

function show(reference: string, others: string[], given: { json?: boolean; margin: string }): void {
  const { margin } = parseOptions(z.object({ margin: shareSchema }), { margin: given.margin }, 'compare');
  const sets = [reference, ...others].flatMap(readRunSets);
  if (sets.length < 2) throw badOption(`name something to compare ${reference} with`, 'compare');
  const comparison = compare(sets, { margin });
  process.exitCode = exitCodeOf(endOf(comparison));
  if (given.json) printJson(comparison);
  else console.log(renderConsole(comparisonDocument(comparison), screen()));
}
