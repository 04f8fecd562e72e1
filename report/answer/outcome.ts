/** The outcome of a run in words, and its exit code. */
import { exitCodeOf } from '../../protocol/codes/exit-codes.ts';
import type { Outcome } from '../../protocol/result/answer-schema.ts';
import type { Result } from '../../protocol/result/result.ts';

/** Never rounds a missed value to its limit. */
export function shortened(value: number, limits: number[]): number {
  const rounded = Number(value.toPrecision(6));
  return limits.includes(rounded) ? value : rounded;
}

const TITLES = { PASSED: 'Passed', FAILED: 'Failed', UNKNOWN: 'No result: this measurement cannot be trusted' };

/** Returns the verdict or outcome in a word. Doubts about the measurement take precedence over the outcome. */
export function outcomeTitle(
  { verdict, outcome }: Pick<Result, 'verdict' | 'outcome'>,
  { status }: Outcome = outcome,
): string {
  return status === 'PASSED' && verdict.status === 'SUSPECT'
    ? 'SUSPECT: passed, but the figures are in doubt'
    : TITLES[status];
}

/** Returns, for example, `Failed: 50.00 % of the copies delivered, threshold 100 %`. */
export function outcomeText(result: Result, outcome = result.outcome): string {
  return [outcomeTitle(result, outcome), missedText(outcome)].filter(Boolean).join(': ');
}

/** Returns the missed thresholds; undefined without any. */
export function missedText({ thresholds }: Outcome): string | undefined {
  const missed = thresholds.filter(isMissed).map(({ text }) => text);
  return missed.length > 0 ? missed.join('; ') : undefined;
}

/** Returns `connections.rate > 900, found 740 connections/s` for each missed threshold that does not fail the run. */
export function missedOptional({ thresholds }: Outcome): string[] {
  return thresholds.filter(({ met, strict }) => !met && !strict).map(({ text }) => text);
}

/** A threshold that is not strict only informs, like in Artillery. */
export function isMissed({ met, strict }: Outcome['thresholds'][number]): boolean {
  return strict && !met;
}

/** Returns the exit code of a run. INVALID takes precedence over a missed threshold, which takes precedence over SUSPECT. */
export function exitCodeOfResult(result: Result, outcome = result.outcome): number {
  return exitCodeOf({ verdict: result.verdict.status, outcome: outcome.status });
}
