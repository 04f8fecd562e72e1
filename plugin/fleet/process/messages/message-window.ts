/** How many messages one part of the run has, and how long they took. */
import { createHistogram, encodeHistogram, recordUs } from '../../../../protocol/histogram.ts';
import type { MessageTimes } from '../../../../protocol/link/client-messages.ts';

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
