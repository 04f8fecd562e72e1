/** The outcome of a run in words, and its exit code. */
import { exitCodeOfOutcome } from '../../protocol/codes/exit-codes.ts';
import type { RunOutcome } from '../../protocol/result/answer-schema.ts';
import type { Result } from '../../protocol/result/result.ts';

/** Formats a value that missed its limit. Uses enough digits to make the rounded value differ from the limit. */
export function textBeyondLimit(value: number, limits: number[]): number {
  const rounded = Number(value.toPrecision(6));
  return limits.includes(rounded) ? value : rounded;
}

const TITLES = { PASSED: 'Passed', FAILED: 'Failed', UNKNOWN: 'No result: this measurement cannot be trusted' };

/** Returns the verdict or the outcome as one word. An INVALID or SUSPECT verdict takes precedence over the outcome. */
export function outcomeTitle(
  { verdict, outcome }: Pick<Result, 'verdict' | 'outcome'>,
  { status }: RunOutcome = outcome,
): string {
  return status === 'PASSED' && verdict.status === 'SUSPECT'
    ? 'SUSPECT: passed, but the figures are in doubt'
    : TITLES[status];
}

/** Returns, for example, `Failed: 50.00 % of the copies delivered, threshold 100 %`. */
export function outcomeText(result: Result, outcome = result.outcome): string {
  return [outcomeTitle(result, outcome), missedThresholdsText(outcome)].filter(Boolean).join(': ');
}

/** Describes the missed thresholds; undefined if none was missed. */
export function missedThresholdsText({ thresholds }: RunOutcome): string | undefined {
  const missed = thresholds.filter(isThresholdMissed).map(({ text }) => text);
  return missed.length > 0 ? missed.join('; ') : undefined;
}

/**
 * Returns a text such as `connections.rate > 900, found 740 connections/s` for each missed threshold that does not fail
 * the run.
 */
export function missedOptionalThresholds({ thresholds }: RunOutcome): string[] {
  return thresholds.filter(({ met, strict }) => !met && !strict).map(({ text }) => text);
}

/**
 * Returns whether the threshold was missed and fails the run. In Artillery, a missed threshold with `strict: false`
 * does not fail the run.
 */
export function isThresholdMissed({ met, strict }: RunOutcome['thresholds'][number]): boolean {
  return strict && !met;
}

/** Returns the exit code of a run. Precedence: INVALID, missed threshold, SUSPECT. */
export function exitCodeOfResult(result: Result, outcome = result.outcome): number {
  return exitCodeOfOutcome({ verdict: result.verdict.status, outcome: outcome.status });
}
