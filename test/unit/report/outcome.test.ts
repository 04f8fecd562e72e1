import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { EXIT_CODES } from '../../../protocol/codes/exit-codes.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { outcomeBy } from '../../../report/answer/checked.ts';
import { exitCodeOf, judge, outcomeOf, outcomeText } from '../../../report/answer/outcome.ts';
import { renderConsole } from '../../../report/render/console.ts';
import { renderHtml } from '../../../report/render/html.ts';
import { renderJunit } from '../../../report/render/junit.ts';
import { renderMarkdown } from '../../../report/render/markdown.ts';
import { runDocument } from '../../../report/sections/run-document.ts';
import { column } from '../../helpers/columns.ts';
import { plannedFault } from '../../helpers/planned-fault.ts';
import { perfectResult, resultWithMessages } from '../../helpers/results.ts';

function changed(change: (result: Result) => unknown): Result {
  const result = perfectResult();
  change(result);
  return { ...result, outcome: judge(result) };
}

const halfDelivered = (result: Result) => Object.assign(result.delivery as object, { received: 30_000, coverage: 0.5 });

describe('the outcome', () => {
  it('is passed where everything arrived, and names what was met', () => {
    const { status, thresholds } = outcomeOf(perfectResult());
    assert.deepEqual([status, thresholds.length, thresholds.every(({ met }) => met)], ['PASSED', 4, true]);
    assert.deepEqual([outcomeText(perfectResult()), exitCodeOf(perfectResult())], ['Passed', 0]);
  });

  const nothing = { broadcasts: 0, expected: 0, received: 0, coverage: null, batches: [] };
  const FAILURES: [change: (result: Result) => unknown, text: string][] = [
    [halfDelivered, '50.00 % of the copies delivered, 100 % expected'],
    [
      ({ delivery, verdict }) => {
        Object.assign(delivery as object, nothing);
        verdict.reasons.push({ code: 'BROADCASTS_NOT_SENT', message: '3 of 3 broadcasts were not sent' });
      },
      'no broadcast could be sent',
    ],
    [
      ({ connections }) => Object.assign(connections, { failed: 400, failures: { ECONNREFUSED: 400 } }),
      '400 connections failed (ECONNREFUSED 400), 0 allowed',
    ],
    [
      ({ connections }) => Object.assign(connections, { lost: { 'transport close': 1 } }),
      '1 connection lost (transport close 1), 0 allowed',
    ],
    [({ delivery }) => Object.assign(delivery as object, { duplicates: 3 }), '3 duplicates, 0 allowed'],
    [
      (result) => Object.assign(result, { messages: { ...resultWithMessages().messages, acknowledged: 0 } }),
      '0.00 % of messages acknowledged, 100 % expected',
    ],
  ];
  for (const [change, text] of FAILURES) {
    it(`is failed, although the measurement is VALID: ${text}`, () => {
      const result = changed(change);
      assert.deepEqual([outcomeText(result), exitCodeOf(result)], [`Failed: ${text}`, EXIT_CODES.worse]);
    });
  }

  it('is passed where no broadcast was to be sent', () => {
    assert.equal(outcomeText(changed(({ delivery }) => Object.assign(delivery as object, nothing))), 'Passed');
  });

  it('says which metric of a threshold the run does not have', () => {
    const expression = 'socketio.nosuch.p99 < 10';
    const misspelt = changed((result) => {
      result.thresholds = [{ expression, met: false, strict: true, unknown: ['socketio.nosuch.p99'] }];
    });
    assert.equal(outcomeText(misspelt), `Failed: ${expression}, the run has no socketio.nosuch.p99`);
  });

  it('says what was found, in words of its unit, and never as the limit that it misses', () => {
    const cases: [expression: string, value: number, unit: string, text: string][] = [
      ['socketio.delivery.coverage >= 1', 1, '0 to 1', 'found 1'],
      ['socketio.delivery.coverage >= 1', 0.99999999, '0 to 1', 'found 0.99999999'],
      ['connections.failed < 1', 1, 'connections', 'found 1 connection'],
      ['connections.failed < 1', 1200, 'connections', 'found 1,200 connections'],
      ['connections.connect_time.p99 < 10', 12.94, 'ms', 'found 12.94 ms'],
      ['http.codes.200 > 5', 4, '', 'found 4'],
      ['maxErrorRate <= 1', 12.5, '% of virtual users', 'found 12.5 % of virtual users'],
    ];
    for (const [expression, value, unit, text] of cases) {
      const met = value === 1 && text === 'found 1';
      const result = changed((one) => {
        one.thresholds = [{ expression, met, strict: true, found: [{ metric: 'm', value, unit }] }];
      });
      // On a screen, in Markdown, on a page, in JUnit.
      const document = runDocument(result);
      const shown = [
        renderConsole(document, { color: false, width: 200 }),
        renderMarkdown(document).replaceAll('\\', ''),
        renderHtml(document),
        ...(met ? [] : [renderJunit(result)]),
      ];
      for (const form of shown) assert.ok(form.includes(text), `${expression}: ${text}`);
      if (!met) assert.equal(outcomeText(result), `Failed: ${expression}, ${text}`);
    }
  });

  it('names an optional threshold that is missed, and passes', () => {
    const result = changed((one) => {
      const found = [{ metric: 'connections.rate', value: 740, unit: 'connections/s' }];
      one.thresholds = [{ expression: 'connections.rate > 900', met: false, strict: false, found }];
    });
    const text = renderConsole(runDocument(result), { color: false, width: 200 });
    assert.match(text, /^Passed/);
    assert.match(text, /optional threshold missed: connections.rate > 900, found 740 connections\/s/);
  });

  it('of a planned fault is that all come back; what they missed meanwhile fails nothing', () => {
    const stormy = (fault: Parameters<typeof plannedFault>[0], lost: number) =>
      changed((result) => {
        result.fault = plannedFault(fault);
        Object.assign(result.delivery as object, { received: 60_000 - lost });
      });
    assert.equal(outcomeText(stormy({}, 20)), 'Passed');
    assert.match(outcomeText(stormy({}, 21)), /^Failed: 99\.9\d % of the copies delivered/);
    const away = stormy({ back: 490, notBack: { 'gave up': 10 } }, 0);
    Object.assign(away.connections, {
      failed: 10,
      failures: { disconnected_transport_close: 10 },
      lost: { 'transport close': 10 },
    });
    const title = 'Failed: 10 connections not back from the planned fault (gave up 10), 0 allowed';
    assert.equal(outcomeText({ ...away, outcome: judge(away) }), title);
    Object.assign(away.connections, { lost: { 'transport close': 11 } });
    assert.match(
      outcomeText({ ...away, outcome: judge(away) }),
      /^Failed: 11 connections lost \(transport close 11\), 10 allowed; /,
    );
  });

  it('leaves to a threshold of the scenario what that is about', () => {
    const threshold = (met: boolean, strict = true) => ({
      expression: 'socketio.delivery.coverage >= 0.4',
      met,
      strict,
    });
    const withThreshold = (one: ReturnType<typeof threshold>) =>
      changed((result) => {
        halfDelivered(result);
        result.thresholds = [one];
      });
    assert.equal(outcomeText(withThreshold(threshold(true))), 'Passed');
    assert.equal(outcomeText(withThreshold(threshold(false))), 'Failed: socketio.delivery.coverage >= 0.4');
    assert.equal(outcomeText(withThreshold(threshold(false, false))), 'Passed');
  });

  it('expects nothing of what was not measured', () => {
    const result = changed((one) => {
      one.delivery = null;
      one.connections.held = null;
    });
    assert.deepEqual(column(result.outcome?.thresholds, 'name'), ['no connection fails']);
  });

  it('is not known of a measurement that cannot be trusted', () => {
    const result = changed((one) => {
      halfDelivered(one);
      one.verdict = { status: 'INVALID', reasons: [] };
    });
    assert.equal(outcomeText(result), 'No result: this measurement cannot be trusted');
    assert.deepEqual(result.outcome, { status: 'UNKNOWN', thresholds: [] });
    assert.equal(exitCodeOf(result), EXIT_CODES.invalid);
  });

  it('weighs more than a doubt', () => {
    const doubtful = changed((one) => {
      one.verdict = { status: 'SUSPECT', reasons: [] };
    });
    assert.equal(exitCodeOf(doubtful), EXIT_CODES.suspect);
    halfDelivered(doubtful);
    assert.equal(exitCodeOf({ ...doubtful, outcome: judge(doubtful) }), EXIT_CODES.worse);
  });
});

describe('the outcome by conditions that are given afterwards', () => {
  const by = (result: Result, key: string, value: number) => outcomeBy([{ key, comparison: '<=', value }], result);

  it('says what was found, and never rounds it to the limit that it misses', () => {
    const result = perfectResult();
    Object.assign(result.latency.oneWayMs as object, { p99: 500.0000001 });
    const { status, thresholds } = by(result, 'latency.oneWayMs.p99', 500);
    assert.equal(status, 'FAILED');
    assert.equal(thresholds[0]?.text, 'latency.oneWayMs.p99 is 500.0000001, threshold <= 500');
    assert.equal(
      by(result, 'latency.oneWayMs.p99', 501).thresholds[0]?.text.slice(0, 28),
      'latency.oneWayMs.p99 is 500,',
    );
  });

  it('misses a threshold on what was not measured, and knows nothing of an INVALID run', () => {
    const result = perfectResult();
    result.latency.oneWayMs = null;
    assert.deepEqual(by(result, 'latency.oneWayMs.p99', 500), {
      status: 'FAILED',
      thresholds: [
        {
          name: 'latency.oneWayMs.p99 <= 500',
          met: false,
          strict: true,
          text: 'latency.oneWayMs.p99 is not known (the run did not measure it), threshold <= 500',
        },
      ],
    });
    result.verdict.status = 'INVALID';
    assert.deepEqual(by(result, 'connections.failed', 0), { status: 'UNKNOWN', thresholds: [] });
  });

  it('misses a threshold on a slope that may not be quoted', () => {
    const result = perfectResult();
    const key = 'memory.perConnectionBytes.workerPss.slope';
    assert.equal(by(result, key, 1e6).status, 'PASSED');
    Object.assign(result.memory.perConnectionBytes.workerPss as object, { low95: -1 });
    const { status, thresholds } = by(result, key, 1e6);
    assert.equal(status, 'FAILED');
    assert.equal(
      thresholds[0]?.text,
      `${key} is not known (it may not be quoted: no rise beyond its noise), threshold <= 1000000`,
    );
    assert.equal(by(result, 'memory.perConnectionBytes.workerPss.high95', 1e6).status, 'FAILED');
    assert.equal(by(result, 'memory.perConnectionBytes.workerRss.slope', 1e6).status, 'PASSED', 'has no doubt');
  });
});
