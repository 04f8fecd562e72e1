/** Evaluates conditions on the figures of a result, such as `latency.oneWayMs.p99 > 500`. */

import type { FigureCondition } from '../../protocol/documents/search-schema.ts';
import { ANY_NAME, matchKey, RESULT_KEYS } from '../../protocol/result/figure-paths.ts';
import type { Result } from '../../protocol/result/result.ts';
import { figureByKey, valueAtKey } from '../figures/figures.ts';
import { whyNotQuoted } from '../figures/measured-figures.ts';
import { withUnit } from '../model/amount.ts';
import { MIN_PERCENTILE_VALUES, type Percentile } from '../model/names.ts';
import { countText, decimalsText, integerText, percentOf } from '../text/format.ts';

const TESTS: Record<FigureCondition['comparison'], (value: number, limit: number) => boolean> = {
  '<': (value, limit) => value < limit,
  '<=': (value, limit) => value <= limit,
  '>': (value, limit) => value > limit,
  '>=': (value, limit) => value >= limit,
  '==': (value, limit) => value === limit,
  '!=': (value, limit) => value !== limit,
};

/** A condition with the figure's value in a result. The value is null if it was not measured or cannot be quoted. */
export interface CheckedCondition {
  condition: FigureCondition;
  value: number | null;
  met: boolean;
}

export function checkConditions(conditions: FigureCondition[], result: Result): CheckedCondition[] {
  return conditions.map((condition) => {
    const value = numberAt(result, condition.key);
    return { condition, value, met: value !== null && TESTS[condition.comparison](value, condition.value) };
  });
}

/** Pattern of keys for counts. If the result lacks such a count, it is 0, because the result omits zeros. */
const COUNTS = /^(connections|sampling)\./;

function numberAt(result: Result, key: string): number | null {
  const found = valueAtKey(result, key);
  if (typeof found === 'number') return whyNotQuoted(result, key) === undefined ? found : null;
  const parent = valueAtKey(result, key.slice(0, key.lastIndexOf('.')));
  return found === undefined && COUNTS.test(key) && typeof parent === 'object' && parent !== null ? 0 : null;
}

/** Formats a condition: `latency.oneWayMs.p99 > 500`. */
export function conditionText({ key, comparison, value }: FigureCondition): string {
  return `${key} ${comparison} ${value}`;
}

/**
 * Returns why the condition cannot be checked, such as `the run did not measure it` or `it may not be quoted: not a
 * straight line`.
 */
export function whyConditionUnknown({ key }: FigureCondition, result: Result): string {
  const doubt = whyNotQuoted(result, key);
  if (doubt !== undefined) return `it may not be quoted: ${doubt}`;
  const dot = key.lastIndexOf('.');
  const needed = MIN_PERCENTILE_VALUES[key.slice(dot + 1) as Percentile] ?? 1;
  const others = valueAtKey(result, key.slice(0, dot));
  if (needed === 1 || others === null || others === undefined) return 'the run did not measure it';
  return `it needs ${integerText(needed)} ${key.startsWith('latency.') ? 'broadcasts' : 'values'}, and the run has fewer`;
}

const VERBS: Partial<Record<FigureCondition['comparison'], string>> = {
  '>': 'exceeded',
  '>=': 'reached',
  '<': 'fell below',
};

/** Describes a met condition: `the p99 of the one-way latency exceeded 500 ms (it was 733 ms)`. */
export function metConditionText({ condition, value }: CheckedCondition, { delivery }: Result): string {
  const { key, comparison, value: limit } = condition;
  if (key === 'connections.failed' && comparison === '>' && limit === 0) {
    return `${countText(value ?? 0, 'connection')} failed`;
  }
  if (key === 'delivery.coverage' && delivery) {
    return `only ${percentOf(delivery.received, delivery.expected)} of the broadcasts’ copies arrived`;
  }
  const figure = figureByKey(key);
  const format = (number: number) =>
    figure ? withUnit(figure.quantity, number) : decimalsText(number, Number.isInteger(number) ? 0 : 2);
  // Name of the figure in lower case, such as `one way p99`, for use within a sentence.
  const named = figure ? figure.title.charAt(0).toLowerCase() + figure.title.slice(1) : `\`${key}\``;
  const was = value ?? 0;
  // After rounding, value and limit can look equal. The text then states their difference in percent.
  const isClose = limit !== 0 && was !== limit && format(was) === format(limit);
  const shown = isClose
    ? `${decimalsText(100 * Math.abs(was / limit - 1), 2)} % ${was > limit ? 'more' : 'less'}`
    : format(was);
  return `${named} ${VERBS[comparison] ?? `was ${comparison}`} ${format(limit)} (it was ${shown})`;
}

/** Returns the dotted keys of all numbers in the result, except those in lists: `cpu.<name>.idlePercent`. */
export function numericKeys(): string[] {
  return RESULT_KEYS.flatMap(({ path, type }) =>
    type === 'number' && !path.includes(`${ANY_NAME}.${ANY_NAME}`) ? path : [],
  );
}

/** Returns whether a key is in the list. `<name>` in the list matches any name. */
export function isNumericKey(key: string, keys: string[]): boolean {
  return keys.some((known) => matchKey(known, key) !== undefined);
}
