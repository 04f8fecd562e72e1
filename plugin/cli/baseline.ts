/** `baseline save | check`: saves a result in `capacity-baseline.json`, and compares later ones with it, for CI. */
import { existsSync, writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import { z } from 'zod';
import { readJson } from '../../protocol/bounds.ts';
import { exitCodeOf } from '../../protocol/codes/exit-codes.ts';
import { abridged, type BaselineFile, baselineFileSchema } from '../../protocol/documents/baseline.ts';
import { CapacityError } from '../../protocol/errors.ts';
import { ownValue } from '../../protocol/helpers/sum-counts.ts';
import { formatProblems, problemsOf } from '../../protocol/problems.ts';
import type { Result } from '../../protocol/result/result.ts';
import { type Comparison, compare, type RunSet } from '../../report/compare/compare.ts';
import { endOf } from '../../report/compare/decision.ts';
import { comparisonDocument } from '../../report/compare/document.ts';
import { type Headline, headlineOf } from '../../report/compare/text.ts';
import { isUsable } from '../../report/figures/measured-figures.ts';
import { renderConsole } from '../../report/render/console.ts';
import { replace } from '../run/folder/replace.ts';
import { readRunSet } from '../series/run-sets.ts';
import { addHelp, LINE, parseOptions, printJson, screen, withJson, writing } from './command.ts';
import { COMPARED_CODES, shareSchema, withMargin } from './margin.ts';
import { repeat, timesSchema } from './repeat.ts';

interface Options {
  name: string;
  file: string;
  json?: boolean;
  /** Of `save`. */
  repeat?: string;
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
  const saving = add('save')
    .description('Saves a result as a baseline for later ones, or runs a scenario several times for it.')
    .option('--repeat <n>', 'name a scenario instead of a result: runs it that many times first')
    .action(save);
  addHelp(saving, {
    examples: {
      'baseline save scenarios/5k.yml --repeat 5': 'five runs of the scenario, then their baseline',
      'baseline save results/2026-01-02T03-04-05-5k-x5':
        'five repeats, so that a later run can be compared in every figure',
      'baseline save results/latest --name release-2': 'several baselines in one file',
    },
    exitCodes: {
      0: 'saved',
      2: 'the result cannot be read or is INVALID, or the file cannot be written',
      130: 'stopped by Ctrl-C before all runs were made; nothing was saved',
    },
  });
  addHelp(withMargin(add('check')).description('Compares a result with the baseline.').action(check), {
    examples: {
      'baseline check results/latest': 'in CI, after the run',
      'baseline check results/latest --name release-2 --json': 'for a script',
    },
    exitCodes: { ...COMPARED_CODES, 2: 'refused: there is no such baseline, or the load or the machine is different' },
  });
}

async function save(path: string, { repeat: times, ...options }: Options): Promise<void> {
  if (times === undefined) return saveResults(readRunSet(path).results, path, options);
  const count = parseOptions(z.object({ repeat: timesSchema }), { repeat: times }, 'baseline save').repeat;
  const asked = { scenario: path, vary: {}, times: count, results: 'results', args: [] };
  const { folder, runs, isStopped } = await repeat(asked);
  if (isStopped) process.exitCode = exitCodeOf('stopped');
  else {
    const results = runs.flatMap(({ result }) => result ?? []);
    saveResults(results, folder, options, count);
  }
}

/** @throws CapacityError BASELINE_INVALID unless all runs have figures to compare */
function saveResults(results: Result[], path: string, { name, file, json }: Options, times = results.length): void {
  if (results.length < Math.max(1, times) || !results.every(isUsable)) {
    throw new CapacityError(
      'BASELINE_INVALID',
      results.length < times ? `only ${results.length} of ${times} runs have left a result` : `${path} is INVALID`,
    );
  }
  writeBaseline(file, name, results);
  if (json) {
    printJson({ file, name, runs: results.length });
    return;
  }
  console.log(`Saved as "${name}" in ${file}: ${results.length === 1 ? 'one run' : `${results.length} runs`}.`);
  if (results.length === 1) {
    console.log('A check against a single run finds missing connections and copies, and memory per connection that');
    console.log('differs by 10 %. Times, rates and CPU stay inconclusive: exit code 5. With more runs:');
    console.log(`  ${LINE} baseline save <scenario> --repeat 5`);
  }
}

function check(path: string, { name, file, json, margin: share }: Options & { margin: string }): void {
  const { margin } = parseOptions(z.object({ margin: shareSchema }), { margin: share }, 'baseline check');
  const reference: RunSet = { name: `baseline "${name}"`, results: readBaseline(file, name) };
  const checked = readRunSet(path);
  const comparison = compare([reference, checked], { margin });
  if (checked.results.some(isUsable)) requireSameConditions(comparison);
  const end = endOf(comparison);
  process.exitCode = exitCodeOf(end);
  const headline = headlineOf(comparison, 1);
  if (json) {
    const worse = comparison.figures.filter(({ differences }) => differences.some(({ answer }) => answer === 'worse'));
    printJson({ answer: headline.answer, worse: worse.map(({ path: figure }) => figure), ...comparison });
    return;
  }
  console.log(renderConsole(comparisonDocument(comparison), screen()));
  const verdict =
    'verdict' in end
      ? 'INVALID: the figures cannot be trusted, so they were not checked.'
      : verdictOf(headline, name, reference);
  console.log(`\n${verdict}`);
}

/** @throws CapacityError BASELINE_NOT_COMPARABLE */
function requireSameConditions({ mismatches }: Comparison): void {
  const other = mismatches.filter(({ aspect }) => aspect === 'load' || aspect === 'machine');
  if (other.length === 0) return;
  const lines = other.map(({ aspect, name, values }) => `  different ${aspect}: ${name}: ${values.join(', now ')}`);
  throw new CapacityError(
    'BASELINE_NOT_COMPARABLE',
    `the baseline was measured under different conditions, so the figures cannot be compared\n${lines.join('\n')}`,
  );
}

function verdictOf({ answer, text }: Headline, name: string, { results }: RunSet): string {
  if (answer === 'worse') return `WORSE than baseline "${name}": ${text}.`;
  if (answer === 'no-difference') return `NO DIFFERENCE from baseline "${name}": ${text}.`;
  if (answer === 'better') return `BETTER than baseline "${name}": ${text}.`;
  const several = `Save several runs: ${LINE} baseline save <scenario> --repeat 5 --name ${name}`;
  return [`INCONCLUSIVE against baseline "${name}": ${text}.`, ...(results.length === 1 ? [several] : [])].join('\n');
}

/**
 * @returns the results saved under that name
 * @throws CapacityError BASELINE_MISSING, FILE_UNREADABLE
 */
function readBaseline(path: string, name: string): Result[] {
  const baselines = existsSync(path) ? readFile(path).baselines : {};
  const found = ownValue(baselines, name);
  if (found) return found.results;
  const names = Object.keys(baselines);
  const known = names.length > 0 ? `; it has ${names.join(', ')}` : '';
  throw new CapacityError(
    'BASELINE_MISSING',
    `${path} has no baseline "${name}"${known}`,
    `npx socketio-capacity baseline save <result> --name ${name}`,
  );
}

/**
 * Leaves the other baselines in the file unchanged.
 * @throws CapacityError FILE_UNREADABLE, FILE_UNWRITABLE
 */
function writeBaseline(path: string, name: string, results: Result[]): void {
  const file: BaselineFile = existsSync(path) ? readFile(path) : { schemaVersion: 1, baselines: {} };
  file.baselines[name] = { savedAt: new Date().toISOString(), results: results.map(abridged) };
  const text = `${JSON.stringify(file, null, 1)}\n`;
  writing(path, 'choose a file that you can write to: --file <path>', () => {
    replace(path, (temporary) => writeFileSync(temporary, text));
  });
}

function readFile(path: string): BaselineFile {
  const fix = `correct it, or remove it and save the baseline again: npx socketio-capacity baseline save <result>`;
  let content: unknown;
  try {
    content = readJson(path);
  } catch (cause) {
    throw new CapacityError('FILE_UNREADABLE', `${path} cannot be read`, fix, { cause });
  }
  const parsed = baselineFileSchema.safeParse(content);
  if (parsed.success) return parsed.data;
  const problems = formatProblems(problemsOf(parsed.error, []));
  throw new CapacityError('FILE_UNREADABLE', `${path} is not a baseline file\n${problems}`, fix);
}
