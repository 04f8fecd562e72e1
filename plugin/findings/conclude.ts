/**
 * Converts measurements to the whole result document: first its figures, then findings, verdict, outcome and answer.
 */

import { mapTexts, withoutCredentials } from '../../protocol/base/secrets/known-secrets.ts';
import type { Finding } from '../../protocol/result/findings.ts';
import type { Result } from '../../protocol/result/result.ts';
import { answerOf, foldedFindings } from '../../report/answer/answer.ts';
import { figuresOf } from '../result/assemble.ts';
import type { Measurements } from '../run/measurements/measurements.ts';
import type { Measured } from './check.ts';
import { findAll } from './find.ts';
import { outcomeOf } from './met-expectations.ts';

/** @param figures arguments of `figuresOf`: measurements, settings, environment and sampler of the run */
export function concludeRun(measurements: Measurements, ...figures: FigureSources): Result {
  return conclude(measurements, figuresOf(measurements, ...figures));
}

type FigureSources = Parameters<typeof figuresOf> extends [unknown, ...infer Sources] ? Sources : never;

/** Returns the result with its findings in the order of the answer, and with verdict, outcome and answer. */
export function conclude(measurements: Measurements, figures: Measured): Result {
  const folded = foldedFindings(findAll(measurements, figures));
  // Solving the cause also solves its consequences, so they get the fix of the cause.
  const findings = folded.flatMap(({ cause, consequences }) => [
    cause,
    ...consequences.map((one) => ({ ...one, fix: cause.fix })),
  ]);
  const judged = { ...figures, findings, verdict: { status: verdictOf(findings) } };
  const decided = { ...judged, outcome: outcomeOf(judged) };
  return mapTexts({ ...decided, answer: answerOf(decided) }, withoutCredentials);
}

/** Findings about the deployment decide the outcome. Findings that make figures invalid decide the verdict. */
export function verdictOf(findings: readonly Finding[]): Result['verdict']['status'] {
  if (findings.some(({ invalidates }) => invalidates.includes('run'))) return 'INVALID';
  return findings.some(({ invalidates }) => invalidates.length > 0) ? 'SUSPECT' : 'VALID';
}
