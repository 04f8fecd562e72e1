/** `compare A B [...]`: what is better, what is worse, and what the noise hides. */
import { writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import { CapacityError } from '../../protocol/errors.ts';
import { compare } from '../../report/compare.ts';
import { renderComparisonConsole } from '../../report/compare-console.ts';
import { addHelp, printJson, screen, withJson } from './command.ts';
import { readRunSet } from './run-sets.ts';

interface Options {
  json?: boolean;
  html?: string;
}

export function addCompare(program: Command): void {
  const command = program
    .command('compare')
    .description(
      'Compares runs with the first one, figure by figure, and calls a difference only what is beyond the noise.',
    )
    .argument('<reference>', 'a result.json, the folder of a run, or of a `repeat`')
    .argument('<others...>', 'one or more of the same')
    .option('--html <file>', 'writes the comparison as a page, too')
    .action(show);
  addHelp(withJson(command), {
    examples: {
      'compare results/2026-01-02T03-04-05-5k results/latest': 'two runs: only the lines of memory can be compared',
      'compare results/2026-01-02T03-04-05-5k-x5 results/2026-01-02T06-07-08-5k-x5': 'two series: every figure',
    },
    exitCodes: { 0: 'compared, whatever the answer', 2: 'something cannot be read, or the page not be written' },
  });
}

async function show(reference: string, others: string[], { json, html }: Options): Promise<void> {
  const comparison = compare([reference, ...others].map(readRunSet));
  if (html !== undefined) {
    // With it come charts, which take a while to load.
    const { renderComparison } = await import('../../report/html/comparison.ts');
    writePage(html, renderComparison(comparison));
  }
  if (json) printJson(comparison);
  else console.log(renderComparisonConsole(comparison, screen()));
}

function writePage(file: string, page: string): void {
  try {
    writeFileSync(file, page);
  } catch (cause) {
    throw new CapacityError('REPORT_FAILED', `cannot write ${file}`, 'name a file in a folder that you may write to', {
      cause,
    });
  }
}
