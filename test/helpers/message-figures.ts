/** Invented messages of a run with 5,000 connections, for `results.ts`. */
import type { MessagesResult } from '../../protocol/result/messages-schema.ts';
import type { Summary } from '../../protocol/result/shared-schemas.ts';

/** Returns an invented distribution with this median. */
export function summaryOf(count: number, p50: number): Summary {
  return {
    count,
    min: p50 / 2,
    mean: p50 * 1.1,
    p50,
    p90: p50 * 2,
    p95: p50 * 2.5,
    p99: p50 * 4,
    p999: p50 * 6,
    max: p50 * 8,
  };
}

export function perfectMessages(): MessagesResult {
  return {
    steps: [{ event: 'event_batch', seconds: 1, count: 1, events: 150, acknowledge: true }],
    connections: 5000,
    due: 120_000,
    sent: 120_000,
    notSent: { missed: 0, disconnected: 0 },
    ackNotRequested: 0,
    acknowledged: 120_000,
    unansweredConnected: 0,
    waitingConnections: 0,
    unansweredDisconnected: 0,
    skippedByServer: {},
    answered: 1,
    window: {
      seconds: 10,
      sent: 50_000,
      acknowledged: 50_000,
      sentPerSec: 5000,
      queued: [],
      eventsPerSec: 750_000,
    },
    ackMs: summaryOf(50_000, 3.5),
    sendDelayMs: summaryOf(50_000, 0.5),
    outsideAckMs: summaryOf(70_000, 5.5),
    workers: ['worker-0', 'worker-1'].map((worker) => ({
      worker,
      batches: 25_000,
      events: 3_750_000,
      handlerMs: { p50: 0.012, p95: 0.031, max: 2.4 },
      queueMs: { p50: 0.1, p99: 4.2, max: 18 },
    })),
    histograms: {},
  };
}
