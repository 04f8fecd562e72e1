/**
 * `check <run> [conditions...]`: checks whether a result meets the given thresholds. Does not need Artillery's plugin
 * `ensure`.
 */
import type { Command } from 'commander';
import { harmless } from '../../protocol/base/printable.ts';
import { formatProblems } from '../../protocol/base/problems.ts';
import type { Condition } from '../../protocol/documents/search-schema.ts';
import type { Outcome } from '../../protocol/result/answer-schema.ts';
import type { Result } from '../../protocol/result/result.ts';
import { foldedFindings } from '../../report/answer/answer.ts';
import { exitCodeOfResult, outcomeText, shortened } from '../../report/answer/outcome.ts';
import { type Checked, checkConditions, conditionText, whyUnknown } from '../../report/conditions/conditions.ts';
import { readResult } from '../../report/read.ts';
import { addHelp, badOption, printJson, withJson } from './command.ts';
import { conjuncts, parseConditions } from './parse-conditions.ts';

export function addCheck(program: Command): void {
  const command = program
    .command('check')
    .description('Checks a result against thresholds that you give, or against its own.')
    .argument('<run>', 'a result.json, or the folder of a run')
    .argument('[conditions...]', 'thresholds, of keys or metrics: "latency.oneWayMs.p99 <= 500", "memory.leaks == 0"')
    .action(check);
  addHelp(withJson(command), {
    examples: {
      'check results/latest "latency.oneWayMs.p99 <= 500"': 'in CI, after the run',
      'check results/latest': 'the outcome of the run itself, with its exit code',
    },
    exitCodes: {
      0: 'every threshold is met, and the measurement is VALID',
      1: 'a threshold is missed, or its figure was not measured',
      2: 'the result cannot be read, or a condition is wrong',
      3: 'every threshold is met, and the measurement is SUSPECT',
      4: 'the measurement is INVALID, so nothing was checked',
    },
  });
}

function check(run: string, texts: string[], { json }: { json?: boolean }): void {
  const { conditions, problems } = parseConditions(conjuncts(texts));
  if (problems.length > 0) throw badOption(`some conditions are wrong\n${formatProblems(problems)}`, 'check');
  const result = readResult(run);
  const outcome = conditions.length > 0 ? outcomeBy(conditions, result) : result.outcome;
  const doubts = result.findings.filter(({ invalidates }) => invalidates.length > 0).map(({ code }) => code);
  process.exitCode = exitCodeOfResult(result, outcome);
  if (json) {
    printJson({ run: result.run.id, ...outcome, verdict: result.verdict, findings: result.findings });
    return;
  }
  for (const { met, text } of outcome.thresholds) console.log(harmless(`  ${met ? 'met   ' : 'missed'}  ${text}`));
  const codes = doubts.length === 0 ? '' : ` (${doubts.join(', ')})`;
  const causes = foldedFindings(result.findings).flatMap(({ cause: { code, message, fix }, consequences }) => {
    const explained = consequences.map((one) => one.message).join('; ');
    return [`  ${code}: ${message}`, ...(explained ? [`    explains: ${explained}`] : []), `    fix: ${fix}`];
  });
  const title = conditions.length > 0 ? outcomeText(result, outcome) : headline(result);
  console.log(harmless(['', title, `  Measurement: ${result.verdict.status}${codes}`, ...causes].join('\n')));
}

/** Returns the outcome and its root cause, as printed at the end of a run. */
function headline(result: Result): string {
  const { title, cause } = result.answer;
  const isGood = exitCodeOfResult(result) === 0;
  return isGood || cause === null ? outcomeText(result) : `${title}: ${cause}`;
}

/**
 * Returns whether a result meets the conditions.
 * @param conditions conditions that must hold; a condition on a figure that was not measured counts as missed
 */
export function outcomeBy(conditions: Condition[], result: Result): Outcome {
  if (result.verdict.status === 'INVALID') return { status: 'UNKNOWN', thresholds: [] };
  const checked = checkConditions(conditions, result);
  const thresholds = checked.map((one) => ({
    name: conditionText(one.condition),
    met: one.met,
    strict: true,
    text: textOf(one, result),
  }));
  return { status: checked.every(({ met }) => met) ? 'PASSED' : 'FAILED', thresholds };
}

/** Returns a checked condition as text, such as `latency.oneWayMs.p99 is 733.5, threshold <= 500`. */
function textOf({ condition, value }: Checked, result: Result): string {
  const { key, comparison, value: limit } = condition;
  const found = value === null ? `is unknown (${whyUnknown(condition, result)})` : `is ${shortened(value, [limit])}`;
  return `${key} ${found}, threshold ${comparison} ${limit}`;
}
