/** Publishes broadcasts on an absolute schedule: a slow one does not delay the next, it shows as its own send delay. */
import { monotonicUs } from '../../protocol/clock.ts';
import type { BroadcastSent } from '../../protocol/events.ts';
import type { ControlClients } from '../samplers/workers.ts';
import { toOurs, toWorkers, type WorkerClock } from './clocks.ts';
import { pause } from './wait.ts';

/** `sentAtUs` and `intendedAtUs` are on our clock. */
export interface SentBroadcast extends Omit<BroadcastSent, 'expected'> {
  /** Empty for an event of the server's own. */
  room: string;
  /** Members of the room as the server counted them; null if it counts nobody. */
  expected: number | null;
  intendedAtUs: number;
  /** `sentAtUs` as the publisher reported it, on its own clock. */
  stampedAtUs: number;
  /** Index of the publisher. */
  via: number;
}

interface Schedule {
  /** In order: each broadcast's room, and the index of the worker that publishes it. */
  to: { room: string; via: number }[];
  intervalMs: number;
  bytes: number;
  /** One for each worker; without clocks, all workers share the run's. */
  clocks?: WorkerClock[];
}

/** The worker counts the members first; that must not delay the send. */
const ORDER_AHEAD_MS = 200;

/**
 * @param onSent called for each broadcast that a worker confirms
 * @param onFailed called for each broadcast that no worker sent
 * @returns when the last one is confirmed or given up
 */
export async function publish(
  control: Pick<ControlClients, 'broadcast'>,
  { to, intervalMs, bytes, clocks = [] }: Schedule,
  onSent: (sent: SentBroadcast) => void,
  onFailed: (seq: number, error: Error) => void,
  signal: AbortSignal,
): Promise<void> {
  const underWay: Promise<void>[] = [];
  const startUs = monotonicUs() + ORDER_AHEAD_MS * 2000;
  for (const [index, { room, via }] of to.entries()) {
    if (signal.aborted) break;
    const seq = index + 1;
    const intendedAtUs = startUs + index * intervalMs * 1000;
    const waitMs = (intendedAtUs - monotonicUs()) / 1000 - ORDER_AHEAD_MS;
    await pause(waitMs, signal);
    if (signal.aborted) break;
    const order = { room, bytes, seq, atUs: toWorkers(clocks[via], intendedAtUs) };
    const sending = control.broadcast(order, via).then(
      (sent) => {
        const { sentAtUs: stampedAtUs } = sent;
        onSent({ ...sent, room, sentAtUs: toOurs(clocks[via], stampedAtUs), stampedAtUs, via, intendedAtUs });
      },
      (error) => onFailed(seq, error),
    );
    underWay.push(sending);
  }
  await Promise.all(underWay);
}
