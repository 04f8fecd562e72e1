/** Whether the deployment did what was asked of it: the thresholds of the scenario, and what everybody expects. */
import { exitCodeOf } from '../../protocol/codes/exit-codes.ts';
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
    ...own.map((one) => ({ name: one.name, met: one.met, strict: one.strict, text: one.name + foundText(one) })),
  ];
  return { status: thresholds.some(isMissed) ? 'FAILED' : 'PASSED', thresholds };
}

/** @returns `, found 12.9 ms`; with their names where an expression has several metrics */
function foundText({ expression, found = [], unknown = [], met }: Result['thresholds'][number]): string {
  const limits = [...expression.matchAll(/-?\d[\d.]*/g)].map(([limit]) => Number(limit));
  const values = found.map(({ metric, value, unit }) => {
    const text = metricText(value, unit, limits);
    return found.length > 1 ? `${metric} ${text}` : text;
  });
  const missing = met || unknown.length === 0 ? [] : [`the run has no ${unknown.join(', ')}`];
  const texts = [...(values.length > 0 ? [`found ${values.join(', ')}`] : []), ...missing];
  return texts.length > 0 ? `, ${texts.join('; ')}` : '';
}

/** A scale is no unit: a share is compared as the number that it is. */
function metricText(value: number, unit: string, limits: number[]): string {
  const number = shortened(value, limits).toLocaleString('en-US', { maximumFractionDigits: 20 });
  if (unit === '' || unit === '0 to 1') return number;
  return `${number} ${value === 1 ? unit.replace(/s$/, '') : unit}`;
}

/** Never rounded to a limit that it misses. */
export function shortened(value: number, limits: number[]): number {
  const short = Number(value.toPrecision(6));
  return limits.includes(short) ? value : short;
}

const TITLES = { PASSED: 'Passed', FAILED: 'Failed', UNKNOWN: 'No result: this measurement cannot be trusted' };

/** @returns in a word; a doubt about the measurement comes before what it seems to show */
export function outcomeTitle({ verdict }: Result, { status }: Outcome): string {
  return status === 'PASSED' && verdict.status === 'SUSPECT'
    ? 'SUSPECT: passed, but the figures are in doubt'
    : TITLES[status];
}

/** @returns `Failed: 50.00 % of the copies delivered, threshold 100 %` */
export function outcomeText(result: Result, outcome = outcomeOf(result)): string {
  const missed = outcome.thresholds.filter(isMissed).map(({ text }) => text);
  return [outcomeTitle(result, outcome), ...(missed.length > 0 ? [missed.join('; ')] : [])].join(': ');
}

/** @returns `connections.rate > 900, found 740 connections/s` of each that is missed and fails nothing */
export function missedOptional({ thresholds }: Outcome): string[] {
  return thresholds.filter(({ met, strict }) => !met && !strict).map(({ text }) => text);
}

/** One that is not strict is for information, as in Artillery. */
export function isMissed({ met, strict }: Outcome['thresholds'][number]): boolean {
  return strict && !met;
}

/** Returns the exit code of a run with this result. INVALID precedes a missed threshold, and that precedes SUSPECT. */
export function exitCodeOfResult(result: Result, outcome = outcomeOf(result)): number {
  return exitCodeOf({ verdict: result.verdict.status, outcome: outcome.status });
}
