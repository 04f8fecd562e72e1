/** Whether the deployment did what was asked of it: the thresholds of the scenario, and what everybody expects. */
import { EXIT_CODES } from '../../protocol/codes/exit-codes.ts';
import type { Outcome } from '../../protocol/result/outcome.ts';
import type { Result } from '../../protocol/result/result.ts';
import { EXPECTATIONS } from './expectations.ts';

/** @returns as in the result; computed for documents of older versions */
export function outcomeOf(result: Result): Outcome {
  return result.outcome ?? judge(result);
}

/** @returns UNKNOWN for a measurement that cannot be trusted */
export function judge(result: Omit<Result, 'outcome'>): Outcome {
  if (result.verdict.status === 'INVALID') return { status: 'UNKNOWN', thresholds: [] };
  const own = result.thresholds.map((one) => ({ ...one, name: one.expression }));
  const general = EXPECTATIONS.flatMap(({ name, metrics, judge }) => {
    if (own.some(({ expression }) => metrics.some((metric) => expression.includes(metric)))) return [];
    const found = judge({ ...result, outcome: null });
    return found ? [{ name, strict: true, ...found }] : [];
  });
  const thresholds = [
    ...general,
    ...own.map(({ name, met, strict, unknown }) => ({ name, met, strict, text: name + whyUnmet(met, unknown) })),
  ];
  return { status: thresholds.some(isMissed) ? 'FAILED' : 'PASSED', thresholds };
}

function whyUnmet(met: boolean, unknown: string[] = []): string {
  return met || unknown.length === 0 ? '' : ` (the run has no ${unknown.join(', ')})`;
}

/** One that is not strict is for information, as in Artillery. */
export function isMissed({ met, strict }: Outcome['thresholds'][number]): boolean {
  return strict && !met;
}

/** Of `artillery run`: an untrustworthy measurement weighs more than a missed threshold, and that more than a doubt. */
export function exitCodeOf(result: Result, outcome = outcomeOf(result)): number {
  if (result.verdict.status === 'INVALID') return EXIT_CODES.invalid;
  if (outcome.status === 'FAILED') return EXIT_CODES.worse;
  return result.verdict.status === 'SUSPECT' ? EXIT_CODES.suspect : 0;
}
