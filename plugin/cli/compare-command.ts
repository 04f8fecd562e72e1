/**
 * `compare A B [...]`: shows which measured values are better or worse by more than the margin of error. Each side is a
 * result.json, the folder of a run, a series of runs, or a saved baseline.
 */

import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Command } from 'commander';
import { z } from 'zod';
import { escapeEachLine } from '../../protocol/base/printable.ts';
import { CapacityError } from '../../protocol/codes/errors.ts';
import { exitCodeOfOutcome } from '../../protocol/codes/exit-codes.ts';
import { studySchema } from '../../protocol/documents/study-schema.ts';
import { type Comparison, compareSets, type RunSet } from '../../report/compare/compare.ts';
import { comparisonDocument } from '../../report/compare/compare-page.ts';
import { comparisonOutcome } from '../../report/compare/comparison-outcome.ts';
import { setLetter } from '../../report/compare/text.ts';
import { isUsable } from '../../report/figures/measured-figures.ts';
import { readResult } from '../../report/read.ts';
import { renderConsole } from '../../report/render/console.ts';
import { countedRuns } from '../../report/study/counted-runs.ts';
import { combinationLabel, levelCombinations, runSetOfLevels } from '../../report/study/summarize.ts';
import { countText } from '../../report/text/format.ts';
import { readSeriesDocument } from '../series/folder.ts';
import { readBaseline, saveBaseline } from './baseline-command.ts';
import {
  addHelp,
  addJsonOption,
  invalidOptionError,
  parseOptions,
  percentageSchema,
  printJson,
  terminalFormat,
} from './command.ts';

const optionsSchema = z.object({
  against: z.string().optional(),
  save: z.string().optional(),
  name: z.string(),
  margin: percentageSchema,
  json: z.boolean().optional(),
});

export function addCompare(program: Command): void {
  const command = program
    .command('compare')
    .description('Compares runs with the first one, figure by figure, and reports only differences beyond the noise.')
    .argument('<run>', 'a result.json, the folder of a run, or a series')
    .argument('[others...]', 'runs to compare with it, in the same form; by default the other sides of the series')
    .option('--against <file>', 'compares all of them with the baseline in this file')
    .option('--save <file>', 'compares nothing: saves the run or series as a baseline in this file')
    .option('--name <name>', 'name of the baseline: a file can have several', 'main')
    .option('--margin <share>', 'a difference within this share of the reference does not matter', '10%')
    .action(show);
  addHelp(addJsonOption(command), {
    examples: {
      'compare results/2026-01-02T03-04-05-5k results/latest':
        'two single runs: what is missing, and memory per connection',
      'compare before/study-5k after/study-5k --margin 20%': 'two series: every figure; up to 20 % is no difference',
      'compare results/study-5k --save capacity-baseline.json': 'for later runs: every figure of a series',
      'compare results/latest --against capacity-baseline.json': 'in CI, after the run',
    },
    exitCodes: {
      0: 'no difference, or better; or saved',
      1: 'worse: a figure, or the share of runs that failed or are unusable',
      2: 'refused: a result cannot be read or saved, or the baseline had another load or machine',
      4: 'INVALID: a side has no usable run',
      5: 'inconclusive: noise, too few runs, or findings leave a figure open',
    },
  });
}

function show(run: string, others: string[], given: object): void {
  const { against, save, name, margin, json } = parseOptions(optionsSchema, given, 'compare');
  const sets = [run, ...others].flatMap(readRunSets);
  if (save !== undefined) {
    if (against !== undefined) throw invalidOptionError('--save: give it or --against, not both', 'compare');
    const saved = saveBaseline(save, name, sets);
    if (json) printJson(saved);
    else {
      console.log(`Saved as "${name}" in ${save}: ${countText(saved.runs, 'run')}.`);
      for (const doubt of saved.doubts) console.log(escapeEachLine(`  Look before you compare with it: ${doubt}`));
    }
    return;
  }
  const all = against === undefined ? sets : [readBaseline(against, name), ...sets];
  if (all.length < 2) throw invalidOptionError(`name something to compare ${run} with`, 'compare');
  const comparison = compareSets(all, { margin });
  if (against !== undefined && sets.some(({ results }) => results.some(isUsable))) requireSameConditions(comparison);
  process.exitCode = exitCodeOfOutcome(comparisonOutcome(comparison));
  if (json) printJson({ ...summaryOf(comparison), ...comparison });
  else console.log(renderConsole(comparisonDocument(comparison), terminalFormat()));
}

function summaryOf(comparison: Comparison) {
  const end = comparisonOutcome(comparison);
  const worse = comparison.figures.filter(({ differences }) => differences.some(({ answer }) => answer === 'worse'));
  return { answer: 'answer' in end ? end.answer : 'inconclusive', worse: worse.map(({ path }) => path) };
}

/**
 * Checks that the runs of a comparison were measured under the same conditions.
 * @throws CapacityError BASELINE_NOT_COMPARABLE if load or machine differ
 */
function requireSameConditions({ mismatches }: Comparison): void {
  const other = mismatches.filter(({ aspect }) => aspect === 'load' || aspect === 'machine');
  if (other.length === 0) return;
  const lines = other.map(({ aspect, name, values }) => `  different ${aspect}: ${name}: ${values.join(', now ')}`);
  throw new CapacityError(
    'BASELINE_NOT_COMPARABLE',
    `the baseline was measured under different conditions, so the figures cannot be compared\n${lines.join('\n')}`,
  );
}

/** Names of the file that describes a series of runs. Earlier versions wrote `repeat.json` for some studies. */
const DOCUMENTS = ['study.json', 'repeat.json'];

/**
 * Reads the runs of one side of a comparison.
 * @param path path of a run or a series, or one side of a series, such as `results/x:B`
 * @returns one set of runs for each combination of levels (values of varied settings) in a series; otherwise one set
 * with a single run
 * @throws CapacityError FILE_UNREADABLE, CONFIG_INVALID if a series does not have the side, and errors of `readResult`
 */
function readRunSets(path: string): RunSet[] {
  const [, series = path, side] = /^(.+):([A-Z])$/.exec(path) ?? [];
  const file = [series, ...DOCUMENTS.map((name) => join(series, name))].find(
    (found) => DOCUMENTS.includes(basename(found)) && existsSync(found),
  );
  if (file === undefined) return [{ name: path, results: [readResult(path)] }];
  const sets = setsIn(dirname(file), basename(file));
  if (side === undefined) return sets;
  const set = sets[side.charCodeAt(0) - 'A'.charCodeAt(0)];
  if (set) return [set];
  const fix = `choose one of\n${sets.map(({ name }) => `    ${name}`).join('\n')}`;
  throw new CapacityError('CONFIG_INVALID', `${series} has no side ${side}`, fix);
}

function setsIn(folder: string, name: string): RunSet[] {
  const document = readSeriesDocument(folder, name, studySchema);
  const combinations = document ? levelCombinations(document.plan) : [];
  const made = (document?.runs ?? []).map((run) => {
    return { run, result: run.result === null ? undefined : readResult(join(folder, run.result)) };
  });
  const runs = countedRuns(made);
  const sets = combinations.map((levels, index) => ({
    name: combinations.length === 1 ? folder : `${folder}:${setLetter(index)} (${combinationLabel(levels)})`,
    ...runSetOfLevels(runs, levels),
  }));
  // A side of the comparison whose runs have all crashed is accepted: its runs count as lost.
  if (sets.some(({ results, lost }) => results.length + lost > 0)) return sets;
  const fix = 'repeat the series; the output of each run is in its folder logs/';
  throw new CapacityError('FILE_UNREADABLE', `none of the runs in ${folder} has a result`, fix);
}
