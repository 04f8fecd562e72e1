/** Parses conditions on a result that a user has typed. */

import { didYouMean, type InputProblem } from '../../protocol/base/problems.ts';
import { COMPARISON_OPERATORS, conditionSchema, type FigureCondition } from '../../protocol/documents/search-schema.ts';
import { isNumericKey, numericKeys } from '../../report/conditions/conditions.ts';
import { runMetrics } from '../result/run-metrics.ts';

const FORM = new RegExp(`^\\s*(\\S.*?)\\s*(${COMPARISON_OPERATORS.join('|')}|=)\\s*(-?[\\d.]+(?:e\\d+)?)\\s*$`);

/** Splits a text such as `a == 0 and b < 1` into its conditions. */
export function splitConditions(texts: string[]): string[] {
  return texts.flatMap((text) => text.split(/\s+and\s+/));
}

/**
 * Parses conditions.
 * @param option text before the condition in an error, such as `--until `
 * @returns the valid conditions, and the problems of the invalid conditions
 */
export function parseConditions(
  texts: string[],
  option = '',
): { conditions: FigureCondition[]; problems: InputProblem[] } {
  const keys = numericKeys();
  const conditions: FigureCondition[] = [];
  const problems: InputProblem[] = [];
  for (const text of texts) {
    const [, named, operator, value] = FORM.exec(text) ?? [];
    const key = named === undefined ? undefined : pathOf(named);
    const comparison = operator === '=' ? '==' : operator;
    const { data } = conditionSchema.safeParse({ key, comparison, value: Number(value) });
    const path = `${option}"${text}"`;
    if (!data) {
      const message = 'expected a key of the result, a comparison and a number: "delivery.coverage < 1"';
      problems.push({ path, message });
    } else if (!isNumericKey(data.key, keys)) {
      problems.push({ path, message: `the result has no number "${data.key}"${hint(data.key, keys)}` });
    } else {
      conditions.push(data);
    }
  }
  return { conditions, problems };
}

/**
 * Returns the key of a result for a name in a condition. Metrics of `ensure` such as `connections.connect_time.p99` are
 * converted.
 */
function pathOf(name: string): string {
  const metric = runMetrics().find((one) => `${name}.`.startsWith(`${one.name}.`));
  return metric ? metric.path + name.slice(metric.name.length) : name;
}

/** Suggests the complete key of a result for a key without its section, such as `coverage`. */
function hint(key: string, keys: string[]): string {
  const ending = keys.find((known) => known.endsWith(`.${key}`));
  return ending === undefined ? didYouMean(key, keys) : `, did you mean "${ending}"?`;
}
