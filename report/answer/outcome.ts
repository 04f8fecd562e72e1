/** The outcome of a run in words, and its exit code. */
import { exitCodeOf } from '../../protocol/codes/exit-codes.ts';
import type { Outcome } from '../../protocol/result/answer-schema.ts';
import type { Result } from '../../protocol/result/result.ts';

/** Never rounded to a limit that it misses. */
export function shortened(value: number, limits: number[]): number {
  const short = Number(value.toPrecision(6));
  return limits.includes(short) ? value : short;
}

const TITLES = { PASSED: 'Passed', FAILED: 'Failed', UNKNOWN: 'No result: this measurement cannot be trusted' };

/** @returns in a word; a doubt about the measurement comes before what it seems to show */
export function outcomeTitle(
  { verdict, outcome }: Pick<Result, 'verdict' | 'outcome'>,
  { status }: Outcome = outcome,
): string {
  return status === 'PASSED' && verdict.status === 'SUSPECT'
    ? 'SUSPECT: passed, but the figures are in doubt'
    : TITLES[status];
}

/** @returns `Failed: 50.00 % of the copies delivered, threshold 100 %` */
export function outcomeText(result: Result, outcome = result.outcome): string {
  return [outcomeTitle(result, outcome), missedText(outcome)].filter(Boolean).join(': ');
}

/** @returns the missed thresholds; undefined if none is missed */
export function missedText({ thresholds }: Outcome): string | undefined {
  const missed = thresholds.filter(isMissed).map(({ text }) => text);
  return missed.length > 0 ? missed.join('; ') : undefined;
}

/** @returns `connections.rate > 900, found 740 connections/s` of each that is missed and fails nothing */
export function missedOptional({ thresholds }: Outcome): string[] {
  return thresholds.filter(({ met, strict }) => !met && !strict).map(({ text }) => text);
}

/** A threshold that is not strict only informs, like in Artillery. */
export function isMissed({ met, strict }: Outcome['thresholds'][number]): boolean {
  return strict && !met;
}

/** Returns the exit code of a run with this result. INVALID precedes a missed threshold, and that precedes SUSPECT. */
export function exitCodeOfResult(result: Result, outcome = result.outcome): number {
  return exitCodeOf({ verdict: result.verdict.status, outcome: outcome.status });
}
