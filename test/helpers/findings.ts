/** Findings of a run, and results with the matching answer. */

import { verdictOf } from '../../plugin/findings/conclude.ts';
import { rootFindings } from '../../plugin/findings/find.ts';
import { runOutcomeOf } from '../../plugin/findings/met-expectations.ts';
import { FINDINGS, type FindingCode } from '../../protocol/codes/finding-codes.ts';
import type { Finding } from '../../protocol/result/findings.ts';
import type { Result } from '../../protocol/result/result.ts';
import { runAnswerOf } from '../../report/answer/answer.ts';
import type { ReportDocument } from '../../report/model/document.ts';
import { runDocument } from '../../report/sections/run-document.ts';

/** @returns a finding with the catalogue's entries and this message */
export function finding(code: FindingCode, message = `about ${code}`, changes: Partial<Finding> = {}): Finding {
  const { about, invalidates, fails = null, remedy } = FINDINGS[code];
  return { code, about, invalidates: [...invalidates], fails, explains: [], message, fix: remedy, ...changes };
}

/** @returns the result with the verdict, outcome and answer that follow from its findings and figures */
export function answered(result: Result): Result {
  const judged = { ...result, verdict: { status: verdictOf(result.findings) } };
  const decided = { ...judged, outcome: runOutcomeOf(judged) };
  return { ...decided, answer: runAnswerOf(decided) };
}

/** @returns the result with these findings and their consequences */
export function withFindings(result: Result, ...findings: Finding[]): Result {
  return answered({ ...result, findings });
}

export function documentOf(result: Result): ReportDocument {
  return runDocument(answered(result));
}

/** @returns the root findings about the deployment or the application; findings about a busy machine are left out */
export function findingsOfServer({ findings }: Pick<Result, 'findings'>): Finding[] {
  return rootFindings(findings).filter(({ about }) => about === 'deployment' || about === 'application');
}
