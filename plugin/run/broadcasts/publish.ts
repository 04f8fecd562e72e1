/** Publishes broadcasts on an absolute schedule: a slow one does not delay the next, it shows as its own send delay. */
import { monotonicUs } from '../../../protocol/clock/clock.ts';
import type { ClockLine } from '../../../protocol/clock/clock-line.ts';
import type { BroadcastSent } from '../../../protocol/events.ts';
import type { ControlClients } from '../../samplers/control/workers.ts';
import { pause } from '../wait.ts';

/** `sentAtUs` and `intendedAtUs` are on our clock. */
export interface SentBroadcast extends Omit<BroadcastSent, 'expected'> {
  /** Empty for an event of the server's own. */
  room: string;
  /** Members of the room as the server counted them; null if it counted nobody. */
  expected: number | null;
  intendedAtUs: number;
  /** When the run ordered it, on our clock: the worker counted the members after that. */
  orderedAtUs?: number;
  /** `sentAtUs` as the publisher reported it, on its own clock. */
  stampedAtUs: number;
  /** Where latencies count from the time in the payload: that time; null if it has none that can be used. */
  latencyFromAtUs?: number | null;
  /** Index of the publisher. */
  via: number;
  /** The number by which its worker confirmed it, where that is another one. */
  confirmedAs?: number;
  /** That follow each other, and that this one stands for; by default one. */
  broadcasts?: number;
}

/** No worker has confirmed it. */
export interface UnsentBroadcast extends Pick<SentBroadcast, 'seq' | 'room' | 'via' | 'intendedAtUs'> {
  message: string;
}

interface Schedule {
  /** In order: each broadcast's room, and the index of the worker that publishes it. */
  to: { room: string; via: number }[];
  intervalMs: number;
  bytes: number;
  binary: boolean;
  /** One for each worker; without clocks, all workers share the run's. */
  clocks?: ClockLine[];
  /** Workers come and go now: one that can be reached publishes, and nobody counts the members. */
  isUnsteady?: () => boolean;
}

interface PublishEvents {
  /** Between it and the one before, of which nothing is under way any more if all is well; `index` counts from 0. */
  beforeSend?: (index: number) => void;
  onSent: (sent: SentBroadcast) => void;
  onFailed: (unsent: UnsentBroadcast) => void;
}

/** The worker counts the members first; that must not delay the send. */
const ORDER_AHEAD_MS = 200;
/** From the call of `publish` to the first intended send time. */
export const LEAD_MS = 2 * ORDER_AHEAD_MS;

/** @returns when the last one is confirmed or given up */
export async function publish(
  control: Pick<ControlClients, 'broadcast' | 'reachable'>,
  { to, intervalMs, bytes, binary, clocks = [], isUnsteady = () => false }: Schedule,
  { beforeSend, onSent, onFailed }: PublishEvents,
  signal: AbortSignal,
): Promise<void> {
  const underWay: Promise<void>[] = [];
  const startUs = monotonicUs() + LEAD_MS * 1000;
  for (const [index, { room, via: planned }] of to.entries()) {
    if (signal.aborted) break;
    const seq = index + 1;
    const intendedAtUs = startUs + index * intervalMs * 1000;
    const waitMs = (intendedAtUs - monotonicUs()) / 1000 - ORDER_AHEAD_MS;
    await pause(waitMs, signal);
    if (signal.aborted) break;
    if (beforeSend) {
      const quietMs = (intendedAtUs - monotonicUs()) / 1000 - Math.min(ORDER_AHEAD_MS, intervalMs / 2);
      underWay.push(pause(quietMs, signal).then(() => beforeSend(index)));
    }
    const unsteady = isUnsteady();
    const via = unsteady ? control.reachable(planned) : planned;
    const atUs = clocks[via]?.toTheirs(intendedAtUs) ?? intendedAtUs;
    const order = { room, bytes, ...(binary && { binary }), seq, atUs, ...(unsteady && { count: false as const }) };
    const orderedAtUs = monotonicUs();
    const sending = control.broadcast(order, via).then(
      (sent) => {
        const { sentAtUs: stampedAtUs, seq: confirmedAs } = sent;
        const wrong = confirmedAs === seq ? {} : { confirmedAs };
        onSent({
          ...sent,
          ...wrong,
          seq,
          room,
          sentAtUs: clocks[via]?.toOurs(stampedAtUs) ?? stampedAtUs,
          stampedAtUs,
          via,
          intendedAtUs,
          orderedAtUs,
        });
      },
      ({ message }) => onFailed({ seq, message, room, via, intendedAtUs }),
    );
    underWay.push(sending);
  }
  await Promise.all(underWay);
}
