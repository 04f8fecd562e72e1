/** Publishes broadcasts on an absolute schedule: a slow one does not delay the next, it shows as its own send delay. */
import { monotonicUs } from '../../../protocol/base/clock/clock.ts';
import type { ClockLine } from '../../../protocol/base/clock/clock-line.ts';
import type { BroadcastSent } from '../../../protocol/wire/events.ts';
import { type ControlClients, reasonOf, UnansweredRequest } from '../../samplers/index.ts';
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
  /** No worker confirmed it; copies show that it was sent. Its `sentAtUs` is the intended time. */
  unconfirmed?: true;
  /** That follow each other, and that this one stands for; by default one. */
  broadcasts?: number;
}

/** A broadcast that no worker sent: the worker could not be asked, or refused. */
export interface UnsentBroadcast extends Pick<SentBroadcast, 'seq' | 'room' | 'via' | 'intendedAtUs'> {
  message: string;
  /** The worker runs, and did not let the run publish. */
  isRefused?: true;
  /** Socket.IO's reason why the connection that was to publish it had ended. */
  publisherEnd?: string;
}

/** A broadcast that was ordered and not confirmed: it may have been sent. */
export interface UnconfirmedBroadcast extends UnsentBroadcast {
  orderedAtUs: number;
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
  beforeSend?: (index: number) => unknown;
  onSent: (sent: SentBroadcast) => unknown;
  onFailed: (unsent: UnsentBroadcast) => unknown;
}

/** The worker counts the members first; that must not delay the send. */
const ORDER_AHEAD_MS = 200;
/** From the call of `publish` to the first intended send time. */
export const LEAD_MS = 2 * ORDER_AHEAD_MS;
/** Longer than any run waits: an overloaded worker sends and confirms broadcasts late. */
const CONFIRM_TIMEOUT_MS = 24 * 3_600_000;

/** Broadcasts that workers were asked to send, until their confirmations. */
export class Orders {
  /** Orders that the worker may still confirm, by `seq`. */
  readonly #open = new Map<number, Omit<UnconfirmedBroadcast, 'message'>>();
  readonly #unanswered: UnconfirmedBroadcast[] = [];
  readonly #answers: Promise<void>[] = [];
  #closed = false;

  /** All orders so far, whatever became of them. */
  get count(): number {
    return this.#answers.length;
  }

  /** Orders whose confirmation may still come. */
  get open(): number {
    return this.#open.size;
  }

  /** Orders that may have been carried out and that no confirmation will come for, such as after a lost connection. */
  get unanswered(): number {
    return this.#unanswered.length;
  }

  /** Resolves when every order so far is confirmed, refused or unanswered. */
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
    const answered = (report: () => void) => {
      if (this.#closed) return;
      this.#open.delete(order.seq);
      report();
    };
    const answer = confirmation.then(
      (sent) => answered(() => onConfirmed(sent)),
      (error: Error) =>
        answered(() => {
          const { orderedAtUs, ...rest } = order;
          const { message } = error;
          if (error instanceof UnansweredRequest) this.#unanswered.push({ ...order, message });
          else onFailed({ ...rest, message, ...(reasonOf(error) === 'refused' && { isRefused: true }) });
        }),
    );
    this.#answers.push(answer);
  }

  /** Ignores later confirmations. Idempotent. @returns the orders without confirmation */
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
 * Resolves when the last broadcast is due. Confirmations may come later: a worker with a backlog sends late.
 * @returns the orders, of which the caller waits for as many as it needs, and which it closes
 */
export async function publish(
  control: Pick<ControlClients, 'broadcast' | 'reachable'>,
  { to, intervalMs, bytes, binary, clocks = [], isUnsteady = () => false }: Schedule,
  { beforeSend, onSent, onFailed }: PublishEvents,
  signal: AbortSignal,
): Promise<Orders> {
  const orders = new Orders();
  let beginning: Promise<unknown> | undefined;
  const order = (seq: number, intendedAtUs: number) => {
    const { room, via: planned } = to[seq - 1] as Schedule['to'][number];
    if (beforeSend) {
      const quietMs = (intendedAtUs - monotonicUs()) / 1000 - Math.min(ORDER_AHEAD_MS, intervalMs / 2);
      beginning = pause(quietMs, signal).then(() => beforeSend(seq - 1));
    }
    const unsteady = isUnsteady();
    const via = unsteady ? control.reachable(planned) : planned;
    const atUs = clocks[via]?.toTheirs(intendedAtUs) ?? intendedAtUs;
    const ordered = { room, bytes, ...(binary && { binary }), seq, atUs, ...(unsteady && { count: false as const }) };
    const orderedAtUs = monotonicUs();
    const confirmed = (sent: BroadcastSent) => {
      const { sentAtUs: stampedAtUs, seq: confirmedAs } = sent;
      const wrong = confirmedAs === seq ? {} : { confirmedAs };
      const sentAtUs = clocks[via]?.toOurs(stampedAtUs) ?? stampedAtUs;
      onSent({ ...sent, ...wrong, seq, room, sentAtUs, stampedAtUs, via, intendedAtUs, orderedAtUs });
    };
    const sending = control.broadcast(ordered, via, CONFIRM_TIMEOUT_MS);
    orders.add({ seq, room, via, intendedAtUs, orderedAtUs }, sending, confirmed, onFailed);
  };
  await onSchedule({ count: to.length, intervalMs, leadMs: LEAD_MS, aheadMs: ORDER_AHEAD_MS }, order, signal);
  await beginning;
  return orders;
}

/**
 * Calls `send` with each number, from 1, `aheadMs` before its intended time. The times are absolute: a slow broadcast does not
 * delay the next one. Resolves when the last one is due, or when the signal aborts.
 */
export async function onSchedule(
  { count, intervalMs, leadMs, aheadMs }: Record<'count' | 'intervalMs' | 'leadMs' | 'aheadMs', number>,
  send: (seq: number, intendedAtUs: number) => void,
  signal: AbortSignal,
): Promise<void> {
  const startUs = monotonicUs() + leadMs * 1000;
  const intendedAtUs = (seq: number) => startUs + (seq - 1) * intervalMs * 1000;
  for (let seq = 1; seq <= count; seq++) {
    await pause((intendedAtUs(seq) - monotonicUs()) / 1000 - aheadMs, signal);
    if (signal.aborted) return;
    send(seq, intendedAtUs(seq));
  }
  await pause((intendedAtUs(count) - monotonicUs()) / 1000, signal);
}
