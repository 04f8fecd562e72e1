import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { messageFigures } from '../../../plugin/result/delivery/assemble-messages.ts';
import type { Measurements } from '../../../plugin/run/measurements/measurements.ts';
import type { MessagesResult } from '../../../protocol/result/messages-schema.ts';
import { measurements, messageTimes, messageTotals, snapshot } from '../../helpers/measurements.ts';
import { perfectMessages, summaryOf } from '../../helpers/message-figures.ts';
import { type Change, testCases } from '../../helpers/verdict.ts';

const STEP = { event: 'batch', seconds: 10, count: 1, events: 150, acknowledge: true };
const eventLoop = { utilization: 0.5, delayP50Ms: 1, delayP99Ms: 2, delayMaxMs: 3 };

function figures(changes: Partial<Measurements['messages']> = {}): MessagesResult {
  const one = messageTotals({
    ...{
      connections: 3,
      due: 9,
      sent: 7,
      acknowledged: 4,
      ackNotRequested: 0,
      unanswered: 2,
      waitingConnections: 1,
      lost: 1,
      skippedByServer: { batch: 1 },
    },
    notSent: { missed: 1, disconnected: 1 },
    measured: messageTimes([1000, 2000, 3000], [100, 200, 300, 400]),
    outside: messageTimes([9000], [0, 0, 0]),
  });
  const found = messageFigures(
    measurements({
      messages: { steps: [STEP], seconds: 2, unanswered: [1, 5], skippedByServer: [0, 3], workers: [], ...changes },
      snapshots: [snapshot({ messages: one }), snapshot({ messages: one })],
    }),
  );
  assert.ok(found);
  return found;
}

describe('messages of clients', () => {
  it('messages of clients have no figures if the flows send none', () => {
    assert.equal(messageFigures(measurements()), null);
  });

  it('the counts of client messages are sums over all engines', () => {
    const { steps, connections, due, sent, notSent, acknowledged, answered, ...more } = figures();
    assert.deepEqual(steps, [STEP]);
    assert.deepEqual([connections, due, sent, notSent], [6, 18, 14, { missed: 2, disconnected: 2 }]);
    assert.deepEqual([acknowledged, more.unansweredConnected, more.waitingConnections], [8, 4, 2]);
    assert.equal(answered, 8 / 14);
  });

  it('reports times of client messages during the hold separately from those of all other messages', () => {
    const { ackMs, sendDelayMs, outsideAckMs, window } = figures();
    assert.deepEqual([ackMs?.count, ackMs?.max.toFixed(1), outsideAckMs?.max.toFixed(0)], [6, '3.0', '9']);
    assert.equal(sendDelayMs?.count, 8);
    assert.deepEqual(window, {
      ...{ seconds: 2, sent: 8, acknowledged: 6, sentPerSec: 4, queued: [1, 3], eventsPerSec: 450 },
    });
    assert.equal(figures({ seconds: 0 }).window, null);
  });

  it('reports no events per second if their steps differ, and counts sent messages if none is acknowledged', () => {
    assert.equal(figures({ steps: [STEP, { ...STEP, events: 1 }] }).window?.eventsPerSec, null);
    assert.equal(figures({ steps: [{ ...STEP, acknowledge: false }] }).window?.eventsPerSec, 600);
  });

  it('figures of client messages include the workers’ own figures', () => {
    const handlerMs = { p50: 0.1, p95: 0.2, max: 0.3 };
    const workerFigures = { worker: 'w0', batches: 4, events: 600, handlerMs };
    const { workers } = figures({ workers: [{ ...workerFigures, ownHandler: 0, eventLoop }] });
    assert.deepEqual(workers, [{ ...workerFigures, queueMs: { p50: 1, p99: 2, max: 3 } }]);
  });
});

describe('the verdict on messages of clients', () => {
  const messages =
    (changes: Partial<MessagesResult>): Change =>
    (result) => {
      result.messages = { ...perfectMessages(), ...changes };
    };
  const unanswered = { acknowledged: 100_000, unansweredConnected: 15_000, unansweredDisconnected: 5000 };
  const missed = { due: 120_003, notSent: { missed: 3, disconnected: 0 } };

  testCases([
    ['client messages all acknowledged', messages({})],
    [
      'client messages partly skipped by the server',
      messages({ ...unanswered, skippedByServer: { typing: 15_000 } }),
      'MESSAGES_UNACKNOWLEDGED',
      'the server skipped 15,000',
      '`typing`',
    ],
    [
      'client messages unacknowledged on some connections',
      messages({ ...unanswered, waitingConnections: 12 }),
      'MESSAGES_UNACKNOWLEDGED',
      '15,000 on 12 of 5,000 connections that stayed open',
    ],
    ['unacknowledged', messages(unanswered), 'MESSAGES_UNACKNOWLEDGED'],
    ['client message due but in no column', messages({ due: 120_001 }), 'ACCOUNTS_MISMATCH', 120_001, 120_000],
    [
      'client message sent but in no column',
      messages({ acknowledged: 119_999 }),
      ['ACCOUNTS_MISMATCH', 'MESSAGES_UNACKNOWLEDGED'],
    ],
    ['client messages that the generator did not send', messages(missed), 'GENERATOR_LATE', '3 of 120003'],
    ['client messages sent late', messages({ sendDelayMs: summaryOf(50_000, 20) }), 'GENERATOR_LATE', '80 ms'],
  ]);
});
