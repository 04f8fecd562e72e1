/** A simulated server that sends broadcasts one after the other, and confirms them late or never. */
import { setTimeout as wait } from 'node:timers/promises';
import { UnansweredRequestError } from '../../plugin/samplers/index.ts';
import { monotonicUs } from '../../protocol/base/clock/clock.ts';
import type { BroadcastWindow } from './broadcast-window.ts';
import { frozenBroadcast } from './measurements.ts';

export interface Publisher {
  /** Milliseconds per broadcast. The next broadcast waits for this time. */
  needsMs: number;
  /** Number of the broadcast during which the connection to the worker closes. */
  loses?: number;
  /** Whether the worker sends that broadcast in spite of the closed connection. Default: true. */
  sendsLost?: boolean;
}

/** Default timeout of a control client, in milliseconds. */
const CONTROL_TIMEOUT_MS = 5000;

/**
 * Replaces the workers and the ledger. A row contains the copies received before it is finalized, with their true
 * latencies.
 */
export function publisherOf({ context, run }: BroadcastWindow, { needsMs, loses, sendsLost = true }: Publisher): void {
  const sentAtUs = new Map<number, number>();
  let turn: Promise<unknown> = Promise.resolve();
  const send = async (seq: number, atUs: number) => {
    await wait(Math.max(0, atUs - monotonicUs()) / 1000);
    await wait(needsMs);
    if (seq === loses && !sendsLost) return;
    sentAtUs.set(seq, monotonicUs());
    run.status.received += run.status.joined;
    run.status.reached += run.status.joined;
  };
  context.control.broadcast = async (order, via, timeoutMs = CONTROL_TIMEOUT_MS) => {
    const { seq, atUs = 0 } = order;
    const done = turn.then(() => send(seq, atUs));
    turn = done;
    if (seq === loses) throw new UnansweredRequestError('SOURCE_UNREACHABLE', 'connection lost during `broadcast`');
    let isLate = false;
    // Omits the timer of 24 hours, because it would keep the process running.
    const late = timeoutMs > 3_600_000 ? new Promise<never>(() => {}) : wait(timeoutMs).then(() => (isLate = true));
    await Promise.race([done, late]);
    if (isLate) throw new UnansweredRequestError('CONTROL_TIMEOUT', `no answer within ${timeoutMs} ms`);
    const sent = { seq, worker: `w${via}`, expected: run.status.joined + 1 };
    return { ...sent, sentAtUs: sentAtUs.get(seq) ?? 0 };
  };
  context.link.freeze = async (orders) =>
    orders.map(({ seq, sentAtUs: fromUs, intendedAtUs, latencyFromAtUs }) => {
      const atUs = sentAtUs.get(seq);
      if (atUs === undefined) return frozenBroadcast(seq, [], { expected: run.status.joined, lostConnected: 10 });
      const us = atUs - (latencyFromAtUs ?? Math.min(fromUs, intendedAtUs));
      return frozenBroadcast(seq, Array<number>(run.status.joined).fill(us));
    });
}
