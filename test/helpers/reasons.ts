/** Inputs of a search: results with given findings or failed connections, and conditions. */
import assert from 'node:assert/strict';
import { parseConditions } from '../../plugin/cli/parse-conditions.ts';
import { verdictOf } from '../../plugin/findings/conclude.ts';
import { addCauses } from '../../plugin/findings/find.ts';
import type { FindingCode } from '../../protocol/codes/finding-codes.ts';
import type { Result } from '../../protocol/result/result.ts';
import { finding } from './findings.ts';
import { measurements } from './measurements.ts';
import { perfectResult } from './results.ts';

export function withReasons(codes: FindingCode[], change: (result: Result) => void = () => {}): Result {
  const result = perfectResult();
  result.findings = codes.map((code) => finding(code));
  change(result);
  result.findings = addCauses(result.findings, result, measurements());
  result.verdict = { status: verdictOf(result.findings) };
  return result;
}

export function failing(cause: string, count = 7) {
  return ({ connections }: Result) => {
    connections.failed = count;
    connections.failures = { [cause]: count };
  };
}

export function until(...texts: string[]) {
  const { conditions, problems } = parseConditions(texts);
  assert.deepEqual(problems, []);
  return { until: conditions, vary: 'connections' as const };
}
