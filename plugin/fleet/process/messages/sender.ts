/** Types for the repeated messages of a connection, and the order of their acknowledgements. */
import { createHistogram, encodeHistogram, recordUs } from '../../../../protocol/base/histogram.ts';
import type { MessageTimes } from '../../../../protocol/link/client-messages.ts';
import type { Client, RepeatedMessage } from '../../client/client.ts';
import type { SendTurn } from './send-wheel.ts';

/** Fields of a connection that are needed to send repeated messages. */
export interface SendingConnection {
  readonly client: Client | undefined;
  readonly open: boolean;
  senders: readonly RepeatedSender[];
  /** Unacknowledged messages by acknowledgement id. */
  unanswered: Map<number, Awaited<MessageWindow>> | undefined;
}

/** A connection's schedule entry for a repeated message. */
export interface RepeatedSender extends SendTurn {
  readonly message: RepeatedMessage;
  readonly connection: SendingConnection;
  readonly sinceUs: number;
  readonly order: PendingAcks;
}

export const NO_SENDERS: readonly RepeatedSender[] = [];

/** Message counts and acknowledgement times in one stage of the run, such as the measurement. */
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

interface Awaited<Window> {
  readonly dueAtUs: number;
  readonly window: Window;
  /** Order in which the server has acknowledged the sender's messages. */
  readonly order: PendingAcks;
  isOvertaken: boolean;
  next: Awaited<unknown> | undefined;
}

/**
 * Unacknowledged messages of one sender, in the order of sending. The server has passed over a message if it has
 * acknowledged a newer message, or has never acknowledged any message of the sender.
 */
export class PendingAcks {
  #oldest: Awaited<unknown> | undefined;
  #newest: Awaited<unknown> | undefined;
  /** Number of unacknowledged messages that were sent after the newest acknowledged message. */
  #waiting = 0;
  #overtaken = 0;
  #hasAcknowledgement = false;
  readonly event: string;

  constructor(event: string) {
    this.event = event;
  }

  /** Number of messages that the server has passed over. Excludes the newest message, which may still be in flight. */
  get skippedByServer(): number {
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

  /** Removes all messages when the connection has ended: they can no longer be acknowledged. */
  clear(): void {
    this.#oldest = undefined;
    this.#newest = undefined;
    this.#waiting = 0;
    this.#overtaken = 0;
  }
}
