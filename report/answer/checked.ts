/** Replaces a run's outcome by that of conditions given after the run. */

import type { Condition } from '../../protocol/documents/search-schema.ts';
import type { Outcome } from '../../protocol/result/answer-schema.ts';
import type { Result } from '../../protocol/result/result.ts';
import { type Checked, checkConditions, conditionText, whyUnknown } from '../conditions/conditions.ts';
import { shortened } from './outcome.ts';

/** @param conditions required conditions; a condition on an unmeasured figure counts as missed */
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

/** Returns, for example, `latency.oneWayMs.p99 is 733.5, threshold <= 500`. */
function textOf({ condition, value }: Checked, result: Result): string {
  const { key, comparison, value: limit } = condition;
  const found = value === null ? `is not known (${whyUnknown(condition, result)})` : `is ${shortened(value, [limit])}`;
  return `${key} ${found}, threshold ${comparison} ${limit}`;
}
