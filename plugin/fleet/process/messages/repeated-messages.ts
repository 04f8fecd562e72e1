/**
 * Sends the repeated messages of a fleet process's connections, and records their acknowledgements. The process sends
 * them without the virtual users, and reports only totals.
 */
import { monotonicUs } from '../../../../protocol/base/clock/clock.ts';
import { getOrAdd } from '../../../../protocol/base/get-or-add.ts';
import { addToOwnCounter } from '../../../../protocol/base/sum-counts.ts';
import type { MessageCounts, MessageStage, MessageTotals } from '../../../../protocol/link/client-messages.ts';
import { FIRST_REPEATED_ACK_ID, type RepeatedMessage } from '../../client/client.ts';
import { SendWheel } from './send-wheel.ts';
import { MessageWindow, PendingAcks, type RepeatedSender, type SendingConnection } from './sender.ts';

const NEVER = Number.POSITIVE_INFINITY;

/** Schedule for all connections that send the same message. */
interface Series {
  wheel: SendWheel<RepeatedSender>;
  senders: Set<RepeatedSender>;
}

export class RepeatedMessages {
  readonly #share: { index: number; of: number };
  readonly #clock: () => number;
  readonly #definitions = new Map<number, RepeatedMessage>();
  readonly #series = new Map<RepeatedMessage, Series>();
  readonly #measured = new MessageWindow();
  readonly #outside = new MessageWindow();
  readonly #notSent: MessageTotals['notSent'] = { missed: 0, disconnected: 0 };
  #current = this.#outside;
  #timer: NodeJS.Timeout | undefined;
  #wakesAtUs = NEVER;
  #stopped = false;
  #nextAckId = FIRST_REPEATED_ACK_ID;
  #connections = 0;
  /** Time until which all due messages have been sent, or have been counted as not sent. */
  #upToUs = 0;
  #dueOfEnded = 0;
  #sent = 0;
  #ackNotRequested = 0;
  #acknowledged = 0;
  #lost = 0;
  #unanswered = 0;
  /** Number of connections with messages that the server has not acknowledged yet. */
  #waitingConnections = 0;
  /**
   * Number of unacknowledged messages, by event, for which the server has acknowledged a newer message or has never
   * acknowledged any.
   */
  readonly #skippedByServer: Record<string, number> = {};

  /**
   * Prepares to send repeated messages.
   * @param share position of this process among all fleet processes of the run, to spread the sends over the period
   */
  constructor(share: { index: number; of: number }, clock = monotonicUs) {
    this.#share = share;
    this.#clock = clock;
  }

  /**
   * Defines a repeated message.
   * @param key key of the message for `start`
   */
  define(key: number, message: RepeatedMessage): void {
    this.#definitions.set(key, message);
  }

  /** Starts to send the message on the connection. Has no effect if the connection already sends it. */
  start(connection: SendingConnection, key: number): void {
    const repeated = this.#definitions.get(key);
    if (!repeated || this.#stopped || connection.senders.some((one) => one.message === repeated)) return;
    const { wheel, senders } = this.#seriesOf(repeated);
    const sinceUs = this.#sendDue();
    const index = this.#connections++ * this.#share.of + this.#share.index;
    const order = new PendingAcks(repeated.event);
    const sender: RepeatedSender = { slot: wheel.slotOf(index), message: repeated, connection, sinceUs, order };
    connection.senders = [...connection.senders, sender];
    senders.add(sender);
    wheel.add(sender);
    this.#schedule();
  }

  /** Records an acknowledgement. @returns false if it matches no message of the connection */
  acknowledged(connection: SendingConnection, ackId: number): boolean {
    const answered = connection.unanswered?.get(ackId);
    if (!answered) return false;
    connection.unanswered?.delete(ackId);
    if (connection.unanswered?.size === 0) this.#waitingConnections--;
    this.#unanswered--;
    this.#acknowledged++;
    this.#change(answered.order, () => answered.order.acknowledged(answered));
    answered.window.acknowledge(this.#clock() - answered.dueAtUs);
    return true;
  }

  /** Records that the connection has dropped. Its schedule continues, and its unacknowledged messages count as lost. */
  disconnected(connection: SendingConnection): void {
    const lost = connection.unanswered?.size ?? 0;
    if (lost > 0) this.#waitingConnections--;
    this.#unanswered -= lost;
    this.#lost += lost;
    for (const { order } of connection.unanswered?.values() ?? []) this.#change(order, () => order.clear());
    connection.unanswered = undefined;
  }

  /** Ends the schedule of a connection that the virtual user closes. Sent messages can still be acknowledged. */
  end({ senders }: SendingConnection): void {
    if (senders.length === 0) return;
    this.#sendDue();
    for (const sender of senders) this.#remove(sender);
  }

  /**
   * Begins a stage of the run, such as the measurement.
   * @returns the message counts up to this time
   */
  enter(stage: MessageStage): MessageCounts {
    this.#sendDue();
    this.#current = stage === 'measure' ? this.#measured : this.#outside;
    if (stage === 'stop') this.#stop();
    return {
      sent: this.#sent,
      unanswered: this.#unanswered,
      skippedByServer: Object.values(this.#skippedByServer).reduce((sum, count) => sum + count, 0),
    };
  }

  snapshot(): MessageTotals {
    this.#sendDue();
    return {
      connections: this.#connections,
      due: this.#due(),
      sent: this.#sent,
      notSent: { ...this.#notSent },
      ackNotRequested: this.#ackNotRequested,
      acknowledged: this.#acknowledged,
      unanswered: this.#unanswered,
      waitingConnections: this.#waitingConnections,
      skippedByServer: { ...this.#skippedByServer },
      lost: this.#lost,
      measured: this.#measured.snapshot(),
      outside: this.#outside.snapshot(),
    };
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#stopped = true;
  }

  #seriesOf(message: RepeatedMessage): Series {
    const { periodUs } = message;
    const begun = () => ({
      wheel: new SendWheel<RepeatedSender>(periodUs, this.#clock()),
      senders: new Set<RepeatedSender>(),
    });
    return getOrAdd(this.#series, message, begun);
  }

  #stop(): void {
    this.close();
    for (const { senders } of this.#series.values()) for (const sender of senders) this.#remove(sender);
  }

  #remove(sender: RepeatedSender): void {
    const series = this.#series.get(sender.message);
    if (!series?.senders.delete(sender)) return;
    series.wheel.remove(sender);
    this.#dueOfEnded += this.#dueOf(sender, series);
  }

  /**
   * Sends all due messages. Must be called before a change of the schedule.
   * @returns the current time
   */
  #sendDue(): number {
    const nowUs = this.#clock();
    if (this.#stopped) return nowUs;
    for (const { wheel } of this.#series.values()) {
      wheel.advance(nowUs, (sender, dueAtUs) => this.#send(sender, dueAtUs, nowUs));
    }
    this.#upToUs = nowUs;
    return nowUs;
  }

  #send(sender: RepeatedSender, dueAtUs: number, nowUs: number): void {
    const { message } = sender;
    for (let index = 0; index < message.count; index++) {
      if (nowUs - dueAtUs >= message.periodUs) this.#notSent.missed++;
      else if (!this.#sendOne(sender, dueAtUs)) this.#notSent.disconnected++;
    }
  }

  #sendOne({ message, connection, order }: RepeatedSender, dueAtUs: number): boolean {
    const { client, open } = connection;
    const sentAtUs = this.#clock();
    const ackId = message.acknowledge ? this.#nextAckId++ : undefined;
    if (!open || client?.repeat(message, ackId) !== true) return false;
    this.#sent++;
    this.#current.send(sentAtUs - dueAtUs);
    if (ackId === undefined) this.#ackNotRequested++;
    else {
      this.#unanswered++;
      connection.unanswered ??= new Map();
      const { unanswered } = connection;
      if (unanswered.size === 0) this.#waitingConnections++;
      this.#change(order, () => unanswered.set(ackId, order.sent(dueAtUs, this.#current)));
    }
    return true;
  }

  #change(order: PendingAcks, change: () => void): void {
    const before = order.skippedByServer;
    change();
    if (order.skippedByServer !== before)
      addToOwnCounter(this.#skippedByServer, order.event, order.skippedByServer - before);
  }

  #schedule(): void {
    if (this.#stopped) return;
    const nextUs = Math.min(...[...this.#series.values()].map(({ wheel }) => wheel.nextDueAtUs() ?? NEVER));
    if (nextUs >= this.#wakesAtUs) return;
    clearTimeout(this.#timer);
    this.#wakesAtUs = nextUs;
    // The delay is at least 1 ms, because the next message may already be due.
    this.#timer = setTimeout(() => this.#tick(), Math.max(1, Math.ceil((nextUs - this.#clock()) / 1000)));
  }

  #tick(): void {
    this.#wakesAtUs = NEVER;
    this.#sendDue();
    this.#schedule();
  }

  #due(): number {
    let due = this.#dueOfEnded;
    for (const series of this.#series.values()) {
      for (const sender of series.senders) due += this.#dueOf(sender, series);
    }
    return due;
  }

  #dueOf(sender: RepeatedSender, { wheel }: Series): number {
    return sender.message.count * wheel.dueBetween(sender, sender.sinceUs, this.#upToUs);
  }
}
