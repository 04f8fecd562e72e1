import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { outcomeByConditions } from '../../../plugin/cli/check-command.ts';
import { findAllFindings } from '../../../plugin/findings/find.ts';
import { EXIT_CODES } from '../../../protocol/codes/exit-codes.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { findingsByCause } from '../../../report/answer/answer.ts';
import { exitCodeOfResult, outcomeText } from '../../../report/answer/outcome.ts';
import { renderJunit } from '../../../report/render/junit.ts';
import { column } from '../../helpers/columns.ts';
import { finding, withFindings } from '../../helpers/findings.ts';
import { measurements } from '../../helpers/measurements.ts';
import { perfectMessages } from '../../helpers/message-figures.ts';
import { plannedFault } from '../../helpers/planned-fault.ts';
import { perfectResult } from '../../helpers/results.ts';
import { assertNames, type Change, othersAccepted, set, WORKER } from '../../helpers/verdict.ts';

function changed(change: Change): Result {
  const result = perfectResult();
  const measured = measurements({ workersAtStart: [WORKER], workersAtEnd: [WORKER] });
  change(result, measured);
  // Ignores findings about sums, which these changes break on purpose.
  const findings = findAllFindings(measured, result).filter(({ message }) => !/ is not .* = /.test(message));
  return withFindings(result, ...findings);
}

const halfDelivered = set('delivery', { received: 30_000, coverage: 0.5 });

const nothing = { broadcasts: 0, expected: 0, received: 0, coverage: null, batches: [] };
const noneSent: Change = (result, measured) => {
  set('delivery', nothing)(result);
  measured.unsent = [{ seq: 1, message: 'no answer', intendedAtUs: 0 }];
};
const unanswered = (result: Result) => {
  result.messages = { ...perfectMessages(), acknowledged: 0 };
};
const failedAndLost = set('connections', {
  ...{ failed: 6, failures: { http_503: 6 } },
  lost: { 'transport close': 1 },
});
const lostNamespace = set('connections', { failed: 2, failures: { disconnected_io_server_disconnect: 2 } });
/**
 * Returns a run with a planned fault that explains 20 lost copies. Further copies are lost, or dropped connections do
 * not return.
 */
const stormy =
  (lostCopies: number, notReconnected = 0, lost = notReconnected) =>
  (result: Result) => {
    result.fault = plannedFault({
      reconnected: 500 - notReconnected,
      notReconnected: notReconnected > 0 ? { 'gave up': notReconnected } : {},
    });
    set('delivery', { received: 60_000 - lostCopies })(result);
    if (notReconnected > 0) set('connections', { lost: { 'transport close': lost } })(result);
  };
/** Returns a run in which half of the copies were delivered. */
const withThreshold =
  (met: boolean, strict = true) =>
  (result: Result) => {
    halfDelivered(result);
    result.thresholds = [{ expression: 'socketio.delivery.coverage >= 0.4', met, strict }];
  };

describe('the outcome', () => {
  it('a run has passed if everything arrived, and lists the met expectations', () => {
    const result = changed(() => {});
    const { status, thresholds } = result.outcome;
    assert.deepEqual([status, thresholds.length, thresholds.every(({ met }) => met)], ['PASSED', 6, true]);
    assert.deepEqual([outcomeText(result), exitCodeOfResult(result)], ['Passed', 0]);
  });

  it('the result and JUnit list the root cause first, followed by its consequences', () => {
    const all = [
      finding('MACHINE_SATURATED', 'busy', { fails: null }),
      finding('PROCESS_ENDED', 'it ended', { explains: ['CONNECTIONS_DROPPED'] }),
      finding('CONNECTIONS_DROPPED', 'lost', { explains: ['PLATEAUS_UNUSABLE'] }),
      finding('PLATEAUS_UNUSABLE', 'unusable'),
    ];
    const codes = findingsByCause(all).map(({ cause, consequences }) =>
      [cause, ...consequences].map(({ code }) => code),
    );
    assert.deepEqual(codes, [['PROCESS_ENDED', 'CONNECTIONS_DROPPED', 'PLATEAUS_UNUSABLE'], ['MACHINE_SATURATED']]);
    const xml = renderJunit(withFindings(perfectResult(), ...all));
    assert.match(xml, /PROCESS_ENDED: it ended\n {2}explains:\n {4}CONNECTIONS_DROPPED: lost[\s\S]* {2}fix:/);
    assert.ok(xml.indexOf('PROCESS_ENDED: it ended') < xml.indexOf('MACHINE_SATURATED: busy'));
  });

  it('an expectation counts as met only if measured figures prove it', () => {
    const met = (change: (result: Result) => void) => {
      const result = changed(change);
      return result.outcome.thresholds.filter((one) => one.met).map(({ name }) => name);
    };
    const none = { peak: 0, opened: 18, achievedRatePerSec: 9, configuredRatePerSec: 30, asked: 60, target: 60 };
    const names = met(set('connections', { ...none, failed: 42, failures: { ECONNREFUSED: 42 } }));
    assert.ok(!names.includes('all virtual users are connected at once'));
    assert.ok(!names.includes('connections are made at the configured rate'));
    assert.ok(!names.includes('no connection fails'));
    assert.ok(!met(set('connections', { opened: 0 })).includes('no connection is lost'), 'none could be lost');
  });

  /** Changes of a VALID run, and details of the failure. A run without details passes. */
  const CASES: [what: string, change: Change, ...details: (string | number)[]][] = [
    ['half of the copies lost', halfDelivered, '50.00 %'],
    ['no broadcast sent', noneSent, '1 of 1'],
    ['no broadcast planned', set('delivery', nothing)],
    ['failed connections', set('connections', { failed: 400, failures: { ECONNREFUSED: 400 } }), '400 of 5000 failed'],
    [
      'a lost connection',
      set('connections', { lost: { 'transport close': 1 } }),
      '1 of 5000 connections were lost',
      'transport close 1',
    ],
    [
      'both failed and lost connections',
      failedAndLost,
      '6 of 5000 failed: http_503 6',
      '1 of 5000 connections were lost',
    ],
    ['a lost namespace', lostNamespace, '2 virtual users lost a namespace', 'disconnected_io_server_disconnect 2'],
    ['duplicates', set('delivery', { duplicates: 3 }), 3],
    ['unacknowledged messages', unanswered, '0.00 %'],
    ['copies that a planned fault explains', stormy(20)],
    ['one more copy than a planned fault explains', stormy(21), '99.96 %'],
    ['connections that did not return after a planned fault', stormy(0, 10), '10 connections', 'gave up 10'],
    [
      'one more lost connection than a planned fault explains',
      stormy(0, 10, 11),
      '11 of 5000 connections were lost',
      'transport close 11',
    ],
    ['a met threshold of the scenario instead of the default', withThreshold(true)],
    ['a missed threshold', withThreshold(false), 'socketio.delivery.coverage >= 0.4'],
    ['a missed optional threshold', withThreshold(false, false)],
  ];
  for (const [what, change, ...details] of CASES) {
    it(`the outcome of a run ${details.length > 0 ? 'fails' : 'passes'} with ${what}`, () => {
      const result = changed(change);
      const [text, isPassed] = [outcomeText(result), details.length === 0];
      assert.match(text, isPassed ? /^Passed$/ : /^Failed: /);
      assertNames(text, details);
      assert.equal(exitCodeOfResult(result), isPassed ? 0 : EXIT_CODES.worse);
    });
  }

  it('the outcome of a run has no expectation about figures that were not measured', () => {
    const result = changed((one) => {
      one.delivery = null;
      one.connections.held = null;
    });
    assert.deepEqual(column(result.outcome.thresholds, 'name'), [
      'no connection fails',
      'no connection is lost',
      'connections are made at the configured rate',
    ]);
  });

  it('the outcome of a run is unknown if its measurement cannot be trusted', () => {
    const result = changed((one, measured) => {
      halfDelivered(one);
      othersAccepted(measured);
    });
    assert.deepEqual(result.outcome, { status: 'UNKNOWN', thresholds: [] });
    assert.equal(exitCodeOfResult(result), EXIT_CODES.invalid);
    assert.doesNotMatch(outcomeText(result), /Passed|Failed/);
  });

  it('a run with a failed expectation has failed, even if findings make its measurement SUSPECT', () => {
    const doubtful: Change = (_, measured) => measured.observations.note('connectionsBefore', { others: 1 });
    assert.equal(exitCodeOfResult(changed(doubtful)), EXIT_CODES.suspect);
    assert.equal(exitCodeOfResult(changed((...run) => [doubtful(...run), halfDelivered(run[0])])), EXIT_CODES.worse);
  });
});

describe('the outcome of conditions given after the run', () => {
  const P99 = 'latency.oneWayMs.p99';
  const SLOPE = 'memory.perConnectionBytes.workerPss';
  const measured = ({ latency }: Result) => Object.assign(latency.oneWayMs ?? {}, { p99: 500.0000001 });
  const unmeasured = set('latency', { oneWayMs: null });
  const doubted = ({ memory }: Result) => Object.assign(memory.perConnectionBytes.workerPss ?? {}, { low95: -1 });

  /** Change of the run, limit of a figure, and text of the failure. Without a text, the condition is met. */
  const CASES: [what: string, change: (result: Result) => unknown, key: string, most: number, ...says: RegExp[]][] = [
    ['prints enough digits of a value near its limit', measured, P99, 500, / is 500\.0000001, threshold <= 500$/],
    ['rounds a value that clearly differs from its limit', measured, P99, 501],
    ['fails for a bound on an unmeasured figure', unmeasured, P99, 500, /unknown/],
    ['passes for a bound on a slope', () => {}, `${SLOPE}.slope`, 1e6],
    ['fails for a bound on a slope that is not fit to report', doubted, `${SLOPE}.slope`, 1e6, /may not be quoted/],
    [
      'fails for a bound on an interval that is not fit to report',
      doubted,
      `${SLOPE}.high95`,
      1e6,
      /may not be quoted/,
    ],
    ['passes for a bound on a reliable slope', doubted, 'memory.perConnectionBytes.workerRss.slope', 1e6],
  ];
  for (const [what, change, key, value, says] of CASES) {
    it(`checking conditions after a run ${what}`, () => {
      const result = perfectResult();
      change(result);
      const { status, thresholds } = outcomeByConditions([{ key, comparison: '<=', value }], result);
      const [{ text = '', ...one } = {}] = thresholds;
      assert.equal(status, says ? 'FAILED' : 'PASSED');
      assert.deepEqual(one, { name: `${key} <= ${value}`, met: !says, strict: true });
      assert.match(text, says ?? / is [\d.]+, threshold <= \d+$/);
      assert.ok(text.startsWith(key));
    });
  }

  it('checking conditions after a run has an unknown outcome if the run is INVALID', () => {
    const result = perfectResult();
    result.verdict.status = 'INVALID';
    const outcome = outcomeByConditions([{ key: 'connections.failed', comparison: '<=', value: 0 }], result);
    assert.deepEqual(outcome, { status: 'UNKNOWN', thresholds: [] });
  });
});
