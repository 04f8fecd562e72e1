import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { XMLParser } from 'fast-xml-parser';
import type { Result } from '../../../protocol/result/result.ts';
import { renderJunit } from '../../../report/render/junit.ts';
import { perfectResult } from '../../helpers/results.ts';

interface Suite {
  '@name': string;
  '@tests': string;
  '@failures': string;
  '@errors': string;
  '@skipped': string;
  '@time': string;
  testcase: Record<string, unknown> | Record<string, unknown>[];
}

/** As a CI server reads it. */
function suiteOf(result: Result): Suite & { cases: Record<string, unknown>[] } {
  const parser = new XMLParser({ ignoreAttributes: false, attributeNamePrefix: '@', trimValues: false });
  const { testsuites } = parser.parse(renderJunit(result)) as { testsuites: { testsuite: Suite } };
  const { testsuite } = testsuites;
  return { ...testsuite, cases: [testsuite.testcase].flat() };
}

const thresholds = [
  { expression: 'connections.failed < 1', met: true, strict: true },
  { expression: 'socketio.broadcast.latency.p99 < 10', met: false, strict: true },
  { expression: 'connections.rate > 900', met: false, strict: false },
];

describe('junit.xml', () => {
  it('has a passing case for a VALID verdict, and the seconds of the run', () => {
    const suite = suiteOf(perfectResult());
    assert.deepEqual(
      [suite['@tests'], suite['@failures'], suite['@errors'], suite['@time']],
      ['5', '0', '0', '120.000'],
    );
  });

  it('has a case for each threshold: a missed one fails, unless it is not strict', () => {
    const suite = suiteOf({ ...perfectResult(), thresholds });
    assert.deepEqual([suite['@tests'], suite['@failures'], suite['@skipped']], ['7', '1', '1']);
    const failed = suite.cases.find((one) => 'failure' in one);
    assert.equal(failed?.['@name'], 'socketio.broadcast.latency.p99 < 10');
  });

  it('fails for SUSPECT, with the reasons', () => {
    const reasons = [{ code: 'RATE_NOT_REACHED', message: '80 of 100', fix: 'lower RATE' }];
    const suite = suiteOf({ ...perfectResult(), verdict: { status: 'SUSPECT', reasons } });
    assert.deepEqual(suite.cases[0]?.failure, {
      '@message': 'SUSPECT: RATE_NOT_REACHED',
      '#text': 'RATE_NOT_REACHED: 80 of 100\n  fix: lower RATE',
    });
  });

  it('is an error for INVALID, which makes no threshold pass', () => {
    const reasons = [{ code: 'DEPLOYMENT_CHANGED', message: 'w0' }];
    const suite = suiteOf({ ...perfectResult(), thresholds, verdict: { status: 'INVALID', reasons } });
    assert.deepEqual([suite['@tests'], suite['@failures'], suite['@errors'], suite['@skipped']], ['2', '0', '1', '1']);
  });

  it('takes markup and characters that XML has not for text', () => {
    const nasty = '"><failure/>&\u0000\u001b[31m]]>';
    const result = perfectResult();
    result.run.scenario = nasty;
    result.verdict = { status: 'SUSPECT', reasons: [{ code: 'X', message: nasty }] };
    const suite = suiteOf({ ...result, thresholds: [{ expression: nasty, met: true, strict: true }] });
    assert.equal(suite['@name'], 'socketio-capacity: "><failure/>&[31m]]>');
    assert.equal(suite.cases.length, 6);
    assert.ok(!suite.cases.slice(1).some((one) => 'failure' in one));
  });
});
