/**
 * `check <run> [conditions...]`: checks whether a result meets the given thresholds. Does not need Artillery's plugin
 * `ensure`.
 */
import type { Command } from 'commander';
import { escapeEachLine } from '../../protocol/base/printable.ts';
import { formatProblems } from '../../protocol/base/problems.ts';
import type { FigureCondition } from '../../protocol/documents/search-schema.ts';
import type { RunOutcome } from '../../protocol/result/answer-schema.ts';
import type { Result } from '../../protocol/result/result.ts';
import { findingsByCause } from '../../report/answer/answer.ts';
import { exitCodeOfResult, outcomeText, textBeyondLimit } from '../../report/answer/outcome.ts';
import {
  type CheckedCondition,
  checkConditions,
  conditionText,
  whyConditionUnknown,
} from '../../report/conditions/conditions.ts';
import { readResult } from '../../report/read.ts';
import { addHelp, addJsonOption, invalidOptionError, printJson } from './command.ts';
import { parseConditions, splitConditions } from './parse-conditions.ts';

export function addCheck(program: Command): void {
  const command = program
    .command('check')
    .description('Checks a result against thresholds that you give, or against its own.')
    .argument('<run>', 'a result.json, or the folder of a run')
    .argument('[conditions...]', 'thresholds, of keys or metrics: "latency.oneWayMs.p99 <= 500", "memory.leaks == 0"')
    .action(check);
  addHelp(addJsonOption(command), {
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
  const { conditions, problems } = parseConditions(splitConditions(texts));
  if (problems.length > 0) throw invalidOptionError(`some conditions are wrong\n${formatProblems(problems)}`, 'check');
  const result = readResult(run);
  const outcome = conditions.length > 0 ? outcomeByConditions(conditions, result) : result.outcome;
  const doubts = result.findings.filter(({ invalidates }) => invalidates.length > 0).map(({ code }) => code);
  process.exitCode = exitCodeOfResult(result, outcome);
  if (json) {
    printJson({ run: result.run.id, ...outcome, verdict: result.verdict, findings: result.findings });
    return;
  }
  for (const { met, text } of outcome.thresholds)
    console.log(escapeEachLine(`  ${met ? 'met   ' : 'missed'}  ${text}`));
  const codes = doubts.length === 0 ? '' : ` (${doubts.join(', ')})`;
  const causes = findingsByCause(result.findings).flatMap(({ cause: { code, message, fix }, consequences }) => {
    const explained = consequences.map((one) => one.message).join('; ');
    return [`  ${code}: ${message}`, ...(explained ? [`    explains: ${explained}`] : []), `    fix: ${fix}`];
  });
  const title = conditions.length > 0 ? outcomeText(result, outcome) : headline(result);
  console.log(escapeEachLine(['', title, `  Measurement: ${result.verdict.status}${codes}`, ...causes].join('\n')));
}

/** Returns the outcome of a run and its root cause, as printed at the end of the run. */
function headline(result: Result): string {
  const { title, cause } = result.answer;
  const isGood = exitCodeOfResult(result) === 0;
  return isGood || cause === null ? outcomeText(result) : `${title}: ${cause}`;
}

/**
 * Returns whether a result meets the conditions.
 * @param conditions conditions that must hold; a condition on a value that the run did not measure counts as not met
 */
export function outcomeByConditions(conditions: FigureCondition[], result: Result): RunOutcome {
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

/**
 * Returns a checked condition with the measured value as text, such as `latency.oneWayMs.p99 is 733.5, threshold <=
 * 500`.
 */
function textOf({ condition, value }: CheckedCondition, result: Result): string {
  const { key, comparison, value: limit } = condition;
  const found =
    value === null ? `is unknown (${whyConditionUnknown(condition, result)})` : `is ${textBeyondLimit(value, [limit])}`;
  return `${key} ${found}, threshold ${comparison} ${limit}`;
}
