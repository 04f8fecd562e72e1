/** Repeated messages of a connection, with the unacknowledged ones. */
import { createHistogram, encodeHistogram, recordUs } from '../../../../protocol/base/histogram.ts';
import type { MessageTimes } from '../../../../protocol/link/client-messages.ts';
import type { Client } from '../../client/client.ts';
import type { RepeatedMessage } from '../../client/repeated-message.ts';
import type { AckOrder, Awaited } from './ack-order.ts';
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
