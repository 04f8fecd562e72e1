/**
 * Converts measurements to the whole result document: first its figures, then findings, verdict, outcome and answer.
 */

import { mapTexts, withoutCredentials } from '../../protocol/base/secrets/known-secrets.ts';
import type { Finding } from '../../protocol/result/findings.ts';
import type { Result } from '../../protocol/result/result.ts';
import { findingsByCause, runAnswerOf } from '../../report/answer/answer.ts';
import { assembleFigures } from '../result/assemble.ts';
import type { Measurements } from '../run/measurements/measurements.ts';
import type { RunFigures } from './check.ts';
import { findAllFindings } from './find.ts';
import { runOutcomeOf } from './met-expectations.ts';

/** @param figures arguments of `assembleFigures`: measurements, settings, environment and sampler of the run */
export function concludeRun(measurements: Measurements, ...figures: FigureSources): Result {
  return concludeFigures(measurements, assembleFigures(measurements, ...figures));
}

type FigureSources = Parameters<typeof assembleFigures> extends [unknown, ...infer Sources] ? Sources : never;

/** Returns the result with verdict, outcome and answer. Its findings are in the order of the answer. */
export function concludeFigures(measurements: Measurements, figures: RunFigures): Result {
  const folded = findingsByCause(findAllFindings(measurements, figures));
  // If the user fixes a cause, its consequences also disappear, so they get the fix for the cause.
  const findings = folded.flatMap(({ cause, consequences }) => [
    cause,
    ...consequences.map((one) => ({ ...one, fix: cause.fix })),
  ]);
  const judged = { ...figures, findings, verdict: { status: verdictOf(findings) } };
  const decided = { ...judged, outcome: runOutcomeOf(judged) };
  return mapTexts({ ...decided, answer: runAnswerOf(decided) }, withoutCredentials);
}

/**
 * Returns outcome and verdict. Findings about the deployment decide the outcome. Findings that make figures invalid
 * decide the verdict.
 */
export function verdictOf(findings: readonly Finding[]): Result['verdict']['status'] {
  if (findings.some(({ invalidates }) => invalidates.includes('run'))) return 'INVALID';
  return findings.some(({ invalidates }) => invalidates.length > 0) ? 'SUSPECT' : 'VALID';
}
