import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { FindingCode } from '../../../protocol/codes/finding-codes.ts';
import type { Finding } from '../../../protocol/result/findings.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { judgeSearchRun } from '../../../report/search/judge.ts';
import { finding } from '../../helpers/findings.ts';
import { summaryOf } from '../../helpers/message-figures.ts';
import { until } from '../../helpers/reasons.ts';
import { perfectResult } from '../../helpers/results.ts';

const CONNECTIONS = { until: [], vary: 'connections' as const };
const SLOW = until('latency.oneWayMs.p99 > 500');
const INCOMPLETE = until('delivery.coverage < 1');
const RATE = { until: [], vary: 'rate' as const };

/** Findings whose catalogue entries are replaced, so that a case says all that the judgement depends on. */
const plain = (code: FindingCode, about: Finding['about'], changes: Partial<Finding> = {}) =>
  finding(code, code, { about, fails: null, invalidates: [], explains: [], ...changes });

/** Returns a VALID result with these findings, a p99 latency of 733 ms and 90 % of the copies. */
function resultWith(findings: Finding[], changes: Partial<Result> = {}): Result {
  const { delivery, latency, ...rest } = perfectResult();
  return {
    ...rest,
    findings,
    verdict: { status: 'VALID' },
    delivery: delivery && { ...delivery, coverage: 0.9, received: 0.9 * delivery.expected },
    latency: { ...latency, oneWayMs: summaryOf(100, 183.25) },
    ...changes,
  };
}

/** Returns the outcome, then the reasons: a code (with `*` for a cause) or the start of the text of a condition. */
function judged(plan: Parameters<typeof judgeSearchRun>[1], result: Result): string[] {
  const { outcome, because } = judgeSearchRun(result, plan);
  const reasons = because.map(({ code, text, isCause }) => `${code ?? text.split(':')[0]}${isCause ? '*' : ''}`);
  return [outcome, ...reasons];
}

function withThresholds(findings: Finding[], ...thresholds: Partial<Result['outcome']['thresholds'][number]>[]) {
  const result = resultWith(findings);
  const complete = thresholds.map((one) => ({ name: 'p99 < 5', met: false, strict: true, text: 'p99 < 5', ...one }));
  return { ...result, outcome: { ...result.outcome, thresholds: complete } };
}

const REFUSED = plain('CONNECTIONS_FAILED', 'deployment', { fails: 'no connection fails', explains: ['COPIES_LOST'] });
const LOST = plain('COPIES_LOST', 'deployment', { fails: 'every member receives every broadcast' });
const FULL = plain('LIMIT_REACHED', 'deployment', { explains: ['CONNECTIONS_FAILED'] });
const APART = plain('PLATEAUS_UNUSABLE', 'measurement');
const BUSY = plain('WORKER_STALLED', 'deployment');
const FEW = plain('TARGET_NOT_REACHED', 'deployment', { fails: 'all virtual users are connected at once' });
const SATURATED = plain('MACHINE_SATURATED', 'machine', { explains: ['TARGET_NOT_REACHED'] });
const LATE = plain('GENERATOR_LATE', 'generator', { invalidates: ['latency'] });

const P99_TEXT = 'one way p99 exceeded 500 ms (it was 733 ms)';
const COPIES_TEXT = 'only 90.00 % of the broadcasts’ copies arrived';

const CASES: Record<string, [plan: Parameters<typeof judgeSearchRun>[1], result: Result, ...expected: string[]]> = {
  'failures come first, then their causes, then their consequences': [
    CONNECTIONS,
    resultWith([LOST, FULL, APART, BUSY, REFUSED]),
    'breaks',
    'CONNECTIONS_FAILED',
    'LIMIT_REACHED*',
    'COPIES_LOST',
  ],
  'a condition comes before findings about the deployment, which may explain it': [
    SLOW,
    resultWith([APART, BUSY, LOST, plain('CONNECTIONS_DROPPED', 'deployment', { invalidates: ['memory'] })]),
    'breaks',
    P99_TEXT,
    'WORKER_STALLED*',
  ],
  'an excused target is named with its cause and the conditions that it may explain': [
    INCOMPLETE,
    resultWith([FEW, SATURATED, BUSY]),
    'cannotTell',
    'MACHINE_SATURATED',
    'TARGET_NOT_REACHED',
    COPIES_TEXT,
  ],
  'an excused target does not excuse a latency': [SLOW, resultWith([FEW, SATURATED]), 'breaks', P99_TEXT],
  'a target counts although a threshold of the scenario replaces its expectation': [
    CONNECTIONS,
    resultWith([{ ...FEW, fails: null }]),
    'breaks',
    'TARGET_NOT_REACHED',
  ],
  'a latency that a late generator invalidates breaks nothing': [
    SLOW,
    resultWith([BUSY, LATE]),
    'cannotTell',
    'GENERATOR_LATE',
    P99_TEXT,
  ],
  'a latency that a finding about the measurement invalidates breaks the level': [
    SLOW,
    resultWith([{ ...LATE, about: 'measurement' }]),
    'breaks',
    P99_TEXT,
  ],
  'an INVALID run names the finding and its consequences, and no other': [
    CONNECTIONS,
    resultWith([BUSY, REFUSED, LOST, plain('ACCOUNTS_MISMATCH', 'measurement', { explains: ['COPIES_LOST'] })], {
      verdict: { status: 'INVALID' },
      findings: [{ ...LATE, explains: ['COPIES_LOST'] }, LOST, BUSY],
    }),
    'cannotTell',
    'GENERATOR_LATE',
    'COPIES_LOST',
  ],
  'a finding about the application breaks the level like one about the deployment': [
    CONNECTIONS,
    resultWith([{ ...LATE, about: 'application' }], { verdict: { status: 'INVALID' } }),
    'breaks',
    'GENERATOR_LATE',
  ],
  'failures that the application caused are not excused': [
    CONNECTIONS,
    resultWith([REFUSED, plain('LIMIT_REACHED', 'application', { explains: ['CONNECTIONS_FAILED'] })]),
    'breaks',
    'CONNECTIONS_FAILED',
    'LIMIT_REACHED*',
  ],
  'missed strict thresholds of the scenario break the level': [
    CONNECTIONS,
    withThresholds([], {}, { text: 'met', met: true }, { text: 'optional', strict: false }),
    'breaks',
    'p99 < 5',
  ],
  'the findings stand for the thresholds that are expectations': [
    CONNECTIONS,
    withThresholds([], { name: 'no connection fails' }),
    'holds',
  ],
  'conditions of the search replace the thresholds': [
    until('connections.failed > 10'),
    withThresholds([], {}),
    'holds',
  ],
  'a threshold is excused by a finding about the generator that invalidates figures': [
    CONNECTIONS,
    withThresholds([BUSY, APART, LATE], {}),
    'cannotTell',
    'GENERATOR_LATE',
    'p99 < 5',
  ],
  'a threshold is not excused by a finding about the measurement': [
    CONNECTIONS,
    withThresholds([plain('PLATEAUS_UNUSABLE', 'measurement', { invalidates: ['memory'] })], {}),
    'breaks',
    'p99 < 5',
  ],
  'a missed rate is named if the rate varies': [
    RATE,
    resultWith([plain('RATE_NOT_REACHED', 'deployment'), { ...FEW, fails: null }]),
    'breaks',
    'RATE_NOT_REACHED',
  ],
  'a level that held lists its findings': [
    CONNECTIONS,
    resultWith([APART, BUSY]),
    'holds',
    'WORKER_STALLED',
    'PLATEAUS_UNUSABLE',
  ],
};

describe('the reasons of a level', () => {
  for (const [name, [plan, result, ...expected]] of Object.entries(CASES)) {
    it(name, () => assert.deepEqual(judged(plan, result), expected));
  }
});
