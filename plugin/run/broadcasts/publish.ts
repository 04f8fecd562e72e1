/**
 * Publishes broadcasts on a fixed schedule. A slow broadcast has a send delay and does not delay the next broadcast.
 */
import { monotonicUs } from '../../../protocol/base/clock/clock.ts';
import type { ClockLine } from '../../../protocol/base/clock/clock-line.ts';
import type { BroadcastSent } from '../../../protocol/wire/events.ts';
import { absenceReasonOf, type ControlClients, UnansweredRequestError } from '../../samplers/index.ts';
import { abortablePause } from '../wait.ts';

/** A broadcast that was sent. `sentAtUs` and `intendedAtUs` are on the run's clock. */
export interface SentBroadcast extends Omit<BroadcastSent, 'expected'> {
  /** Room of the broadcast. Empty for the server's own event if the run does not choose the room. */
  room: string;
  /** Members of the room as the worker counted them; null without a count. */
  expected: number | null;
  intendedAtUs: number;
  /**
   * Time at which the run sent the request for the broadcast to the worker, on the run's clock. The worker counts the
   * members after this time.
   */
  orderedAtUs?: number;
  /** Send time on the publisher's own clock. */
  stampedAtUs: number;
  /** The send time in the payload, if latency is measured from it; null if that time is unusable. */
  latencyFromAtUs?: number | null;
  /** Index of the worker that publishes the broadcast. */
  via: number;
  /** The `seq` that the worker confirmed, if it differs from the requested `seq`. */
  confirmedAs?: number;
  /** True if no worker confirmed the broadcast although copies arrived. `sentAtUs` is then the intended send time. */
  unconfirmed?: true;
  /** Number of consecutive broadcasts that this row sums up; by default 1. */
  broadcasts?: number;
}

/** A broadcast that was not sent: the worker was unreachable or refused, or the publisher's connection was closed. */
export interface UnsentBroadcast extends Pick<SentBroadcast, 'seq' | 'room' | 'via' | 'intendedAtUs'> {
  message: string;
  /** True if the worker refused to publish. */
  isRefused?: true;
  /** Socket.IO's disconnect reason for the publisher's connection. */
  publisherEnd?: string;
}

/** A broadcast without a confirmation. The worker may have sent it. */
export interface UnconfirmedBroadcast extends UnsentBroadcast {
  orderedAtUs: number;
}

interface Schedule {
  /** Room and index of the publishing worker of each broadcast, in order. */
  destinations: { room: string; via: number }[];
  intervalMs: number;
  bytes: number;
  binary: boolean;
  /** Clocks of the workers. If missing, all workers use the run's clock. */
  clocks?: ClockLine[];
  /**
   * Returns true while workers may stop and start. During this time, any reachable worker publishes, and the members
   * are not counted.
   */
  isUnsteady?: () => boolean;
}

interface PublishEvents {
  /**
   * Called before each broadcast. The copies of the previous broadcast should have arrived by then. `index` is the
   * number of the broadcast, from 0.
   */
  beforeSend?: (index: number) => unknown;
  onSent: (sent: SentBroadcast) => unknown;
  onFailed: (unsent: UnsentBroadcast) => unknown;
}

/**
 * Time by which a broadcast is requested before its send, in milliseconds. The worker counts the members in this time,
 * so that the count does not delay the send.
 */
const ORDER_AHEAD_MS = 200;
/** Time from the call of `publishBroadcasts` to the first intended send time. */
export const PUBLISH_LEAD_MS = 2 * ORDER_AHEAD_MS;
/**
 * Time limit for the confirmation of a broadcast. It is longer than any run, because an overloaded worker confirms late
 * and the drain has its own time limit.
 */
const CONFIRM_TIMEOUT_MS = 24 * 3_600_000;

/** The broadcasts that the run has requested from workers, and the workers' confirmations. */
export class PublishRequests {
  /** Broadcasts that the run requested and a worker may still confirm, by `seq`. */
  readonly #open = new Map<number, Omit<UnconfirmedBroadcast, 'message'>>();
  readonly #unanswered: UnconfirmedBroadcast[] = [];
  readonly #answers: Promise<void>[] = [];
  #closed = false;

  get count(): number {
    return this.#answers.length;
  }

  /** Number of requested broadcasts that may still be confirmed. */
  get open(): number {
    return this.#open.size;
  }

  /**
   * Number of requested broadcasts that can no longer be confirmed although the worker may have sent them, for example
   * after a lost connection.
   */
  get unanswered(): number {
    return this.#unanswered.length;
  }

  async settled(): Promise<void> {
    await Promise.all(this.#answers);
  }

  add(
    order: Omit<UnconfirmedBroadcast, 'message'>,
    confirmation: Promise<BroadcastSent>,
    onConfirmed: (sent: BroadcastSent) => void,
    onFailed: PublishEvents['onFailed'],
  ): void {
    this.#open.set(order.seq, order);
    const settle = (report: () => void) => {
      if (this.#closed) return;
      this.#open.delete(order.seq);
      report();
    };
    const answer = confirmation.then(
      (sent) => settle(() => onConfirmed(sent)),
      (error: Error) =>
        settle(() => {
          const { orderedAtUs, ...rest } = order;
          const { message } = error;
          if (error instanceof UnansweredRequestError) this.#unanswered.push({ ...order, message });
          else onFailed({ ...rest, message, ...(absenceReasonOf(error) === 'refused' && { isRefused: true }) });
        }),
    );
    this.#answers.push(answer);
  }

  /**
   * Stops waiting for confirmations. Idempotent.
   * @returns the requested broadcasts without a confirmation
   */
  close(): UnconfirmedBroadcast[] {
    this.#closed = true;
    const nowUs = monotonicUs();
    const open = [...this.#open.values()].map((order) => {
      const seconds = ((nowUs - order.intendedAtUs) / 1e6).toFixed(1);
      return { ...order, message: `no confirmation within ${seconds} s` };
    });
    return [...open, ...this.#unanswered].sort((a, b) => a.seq - b.seq);
  }
}

/**
 * Requests all broadcasts from the workers. Resolves when the last broadcast is due, without waiting for confirmations.
 * @returns the requested broadcasts; the caller waits for their confirmations and calls `close`
 */
export async function publishBroadcasts(
  control: Pick<ControlClients, 'broadcast' | 'reachable'>,
  { destinations, intervalMs, bytes, binary, clocks = [], isUnsteady = () => false }: Schedule,
  { beforeSend, onSent, onFailed }: PublishEvents,
  signal: AbortSignal,
): Promise<PublishRequests> {
  const orders = new PublishRequests();
  let preparation: Promise<unknown> | undefined;
  const order = (seq: number, intendedAtUs: number) => {
    const { room, via: planned } = destinations[seq - 1] as Schedule['destinations'][number];
    if (beforeSend) {
      const quietMs = (intendedAtUs - monotonicUs()) / 1000 - Math.min(ORDER_AHEAD_MS, intervalMs / 2);
      preparation = abortablePause(quietMs, signal).then(() => beforeSend(seq - 1));
    }
    const unsteady = isUnsteady();
    const via = unsteady ? control.reachable(planned) : planned;
    const atUs = clocks[via]?.toTheirs(intendedAtUs) ?? intendedAtUs;
    const ordered = { room, bytes, ...(binary && { binary }), seq, atUs, ...(unsteady && { count: false as const }) };
    const orderedAtUs = monotonicUs();
    const onConfirmed = (sent: BroadcastSent) => {
      const { sentAtUs: stampedAtUs, seq: confirmedAs } = sent;
      const wrongSeq = confirmedAs === seq ? {} : { confirmedAs };
      const sentAtUs = clocks[via]?.toOurs(stampedAtUs) ?? stampedAtUs;
      onSent({ ...sent, ...wrongSeq, seq, room, sentAtUs, stampedAtUs, via, intendedAtUs, orderedAtUs });
    };
    const sending = control.broadcast(ordered, via, CONFIRM_TIMEOUT_MS);
    orders.add({ seq, room, via, intendedAtUs, orderedAtUs }, sending, onConfirmed, onFailed);
  };
  await sendOnSchedule(
    { count: destinations.length, intervalMs, leadMs: PUBLISH_LEAD_MS, aheadMs: ORDER_AHEAD_MS },
    order,
    signal,
  );
  await preparation;
  return orders;
}

/**
 * Calls `send` with the number of each broadcast, counted from 1, some time before the broadcast is due. The due times
 * are fixed, so a slow call does not delay the next call. Resolves when the last broadcast is due, or when the signal
 * aborts.
 */
export async function sendOnSchedule(
  { count, intervalMs, leadMs, aheadMs }: Record<'count' | 'intervalMs' | 'leadMs' | 'aheadMs', number>,
  send: (seq: number, intendedAtUs: number) => void,
  signal: AbortSignal,
): Promise<void> {
  const startUs = monotonicUs() + leadMs * 1000;
  const intendedAtUs = (seq: number) => startUs + (seq - 1) * intervalMs * 1000;
  for (let seq = 1; seq <= count; seq++) {
    await abortablePause((intendedAtUs(seq) - monotonicUs()) / 1000 - aheadMs, signal);
    if (signal.aborted) return;
    send(seq, intendedAtUs(seq));
  }
  await abortablePause((intendedAtUs(count) - monotonicUs()) / 1000, signal);
}
