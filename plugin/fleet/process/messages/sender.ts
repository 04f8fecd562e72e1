/** Repeated messages of a connection, with the unacknowledged ones. */
import { createHistogram, encodeHistogram, recordUs } from '../../../../protocol/base/histogram.ts';
import type { MessageTimes } from '../../../../protocol/link/client-messages.ts';
import type { Client, RepeatedMessage } from '../../client/client.ts';
import type { Turn } from './send-wheel.ts';

/** The part of a connection that sending needs. */
export interface SendingConnection {
  readonly client: Client | undefined;
  readonly open: boolean;
  senders: readonly Sender[];
  /** Unacknowledged messages by acknowledgement id. */
  unanswered: Map<number, Awaited<MessageWindow>> | undefined;
}

/** A connection's share in a repeated message. */
export interface Sender extends Turn {
  readonly message: RepeatedMessage;
  readonly connection: SendingConnection;
  readonly sinceUs: number;
  readonly order: AckOrder;
}

export const NO_SENDERS: readonly Sender[] = [];

/** How many messages one part of the run has, and how long they took. */
export class MessageWindow {
  sent = 0;
  acknowledged = 0;
  readonly #ackUs = createHistogram();
  readonly #sendDelayUs = createHistogram();

  send(delayUs: number): void {
    this.sent++;
    recordUs(this.#sendDelayUs, delayUs);
  }

  acknowledge(tookUs: number): void {
    this.acknowledged++;
    recordUs(this.#ackUs, tookUs);
  }

  snapshot(): MessageTimes {
    const { sent, acknowledged } = this;
    return {
      sent,
      acknowledged,
      ackUs: encodeHistogram(this.#ackUs),
      sendDelayUs: encodeHistogram(this.#sendDelayUs),
    };
  }
}

/** A message that awaits its acknowledgement. */
interface Awaited<Window> {
  readonly dueAtUs: number;
  readonly window: Window;
  /** Messages of the same sender, in the order of their sends. */
  readonly order: AckOrder;
  isOvertaken: boolean;
  next: Awaited<unknown> | undefined;
}

/**
 * Messages of one sender that await an acknowledgement. A server with a queue acknowledges the oldest first; a message that is
 * passed over is missing although a newer one was acknowledged, or none of the sender ever was.
 */
export class AckOrder {
  #oldest: Awaited<unknown> | undefined;
  #newest: Awaited<unknown> | undefined;
  /** From the oldest on: not overtaken. */
  #waiting = 0;
  #overtaken = 0;
  #hasAcknowledgement = false;
  readonly event: string;

  constructor(event: string) {
    this.event = event;
  }

  /** The newest can still be on its way. */
  get passedOver(): number {
    return this.#overtaken + (this.#hasAcknowledgement ? 0 : Math.max(0, this.#waiting - 1));
  }

  sent<Window>(dueAtUs: number, window: Window): Awaited<Window> {
    const message: Awaited<Window> = { dueAtUs, window, order: this, isOvertaken: false, next: undefined };
    if (this.#newest) this.#newest.next = message;
    this.#oldest ??= message;
    this.#newest = message;
    this.#waiting++;
    return message;
  }

  acknowledged(message: Awaited<unknown>): void {
    this.#hasAcknowledgement = true;
    if (message.isOvertaken) {
      this.#overtaken--;
      return;
    }
    let older = this.#oldest;
    while (older && older !== message) {
      const { next } = older;
      Object.assign(older, { isOvertaken: true, next: undefined });
      this.#waiting--;
      this.#overtaken++;
      older = next;
    }
    this.#waiting--;
    this.#oldest = message.next;
    if (!message.next) this.#newest = undefined;
  }

  /** The connection has ended: none can be acknowledged any more. */
  clear(): void {
    this.#oldest = undefined;
    this.#newest = undefined;
    this.#waiting = 0;
    this.#overtaken = 0;
  }
}
