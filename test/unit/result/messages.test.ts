import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { messageFigures } from '../../../plugin/result/delivery/messages.ts';
import { messageProblems } from '../../../plugin/result/reasons/messages.ts';
import type { Measurements } from '../../../plugin/run/measurements/measurements.ts';
import type { Messages } from '../../../protocol/result/messages.ts';
import { measurements, messageTimes, messageTotals, snapshot } from '../../helpers/measurements.ts';
import { perfectMessages, perfectResult, summaryOf } from '../../helpers/results.ts';

const STEP = { event: 'batch', seconds: 10, count: 1, events: 150, acknowledge: true };
const eventLoop = { utilization: 0.5, delayP50Ms: 1, delayP99Ms: 2, delayMaxMs: 3 };

function figures(changes: Partial<Measurements['messages']> = {}): Messages {
  const one = messageTotals({
    ...{ connections: 3, due: 9, sent: 7, acknowledged: 4, unasked: 0, unanswered: 2, lost: 1 },
    notSent: { missed: 1, disconnected: 1 },
    measured: messageTimes([1000, 2000, 3000], [100, 200, 300, 400]),
    outside: messageTimes([9000], [0, 0, 0]),
  });
  const found = messageFigures(
    measurements({
      messages: { steps: [STEP], seconds: 2, workers: [], ...changes },
      snapshots: [snapshot({ messages: one }), snapshot({ messages: one })],
    }),
  );
  assert.ok(found);
  return found;
}

describe('messages of clients', () => {
  it('are none where the flows send none', () => {
    assert.equal(messageFigures(measurements()), null);
  });

  it('are the sum over all engines', () => {
    const {
      steps,
      connections,
      due,
      sent,
      notSent,
      acknowledged,
      unansweredConnected,
      unansweredDisconnected,
      answered,
    } = figures();
    assert.deepEqual(steps, [STEP]);
    assert.deepEqual([connections, due, sent, notSent], [6, 18, 14, { missed: 2, disconnected: 2 }]);
    assert.deepEqual([acknowledged, unansweredConnected, unansweredDisconnected, answered], [8, 4, 2, 8 / 14]);
  });

  it('have the times of the hold apart from all others', () => {
    const { ackMs, sendDelayMs, outsideAckMs, window } = figures();
    assert.deepEqual([ackMs?.count, ackMs?.max.toFixed(1), outsideAckMs?.max.toFixed(0)], [6, '3.0', '9']);
    assert.equal(sendDelayMs?.count, 8);
    assert.deepEqual(window, { seconds: 2, sent: 8, acknowledged: 6, sentPerSec: 4, eventsPerSec: 450 });
    assert.equal(figures({ seconds: 0 }).window, null);
  });

  it('have no events per second where steps differ in them, and those that were sent where none is acknowledged', () => {
    assert.equal(figures({ steps: [STEP, { ...STEP, events: 1 }] }).window?.eventsPerSec, null);
    assert.equal(figures({ steps: [{ ...STEP, acknowledge: false }] }).window?.eventsPerSec, 600);
  });

  it('have what the workers tell of them', () => {
    const handlerMs = { p50: 0.1, p95: 0.2, max: 0.3 };
    const { workers } = figures({ workers: [{ worker: 'w0', batches: 4, events: 600, handlerMs, eventLoop }] });
    assert.deepEqual(workers, [
      { worker: 'w0', batches: 4, events: 600, handlerMs, queueMs: { p50: 1, p99: 2, max: 3 } },
    ]);
  });
});

describe('the verdict on messages of clients', () => {
  const codes = (changes: Partial<Messages>) => {
    const result = { ...perfectResult(), messages: { ...perfectMessages(), ...changes } };
    return [...messageProblems(result)].map(({ code }) => code);
  };

  for (const [what, changes, expected] of [
    ['says nothing where all is acknowledged', {}, []],
    [
      'says nothing of messages that the server does not answer: they are its result',
      { acknowledged: 100_000, unansweredConnected: 15_000, unansweredDisconnected: 5000 },
      [],
    ],
    ['is INVALID if a message that was due is in no column', { due: 120_001 }, ['MESSAGES_MISMATCH']],
    ['is INVALID if one that was sent is in no column', { acknowledged: 119_999 }, ['MESSAGES_MISMATCH']],
    [
      'is SUSPECT if the generator missed some',
      { due: 120_003, notSent: { missed: 3, disconnected: 0 } },
      ['MESSAGES_MISSED'],
    ],
    ['is SUSPECT if the generator was late', { sendDelayMs: summaryOf(50_000, 20) }, ['MESSAGES_LATE']],
  ] as [string, Partial<Messages>, string[]][]) {
    it(what, () => assert.deepEqual(codes(changes), expected));
  }
});
