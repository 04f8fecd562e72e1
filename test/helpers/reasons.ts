/** What a search judges: results with given reasons of the verdict or failed connections, and conditions. */
import assert from 'node:assert/strict';
import { parseConditions } from '../../plugin/cli/conditions.ts';
import { type ReasonCode, VERDICT_REASONS } from '../../protocol/codes/verdict-reasons.ts';
import type { Result } from '../../protocol/result/result.ts';
import { perfectResult } from './results.ts';

export function withReasons(codes: ReasonCode[], change: (result: Result) => void = () => {}): Result {
  const result = perfectResult();
  const invalid = codes.some((code) => VERDICT_REASONS[code].invalidates.includes('run'));
  const status = codes.length === 0 ? 'VALID' : invalid ? 'INVALID' : 'SUSPECT';
  result.verdict = { status, reasons: codes.map((code) => ({ code, message: `about ${code}` })) };
  change(result);
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
