/** Counts of one client's messages, and its last received event, for the report of how its connection closed. */
import { type Announced, NOTHING_ANNOUNCED } from '../../../protocol/link/ends.ts';
import type { SeenEvent } from './seen-events.ts';

export class Traffic {
  /** Socket.IO messages, in each direction. */
  sent = 0;
  received = 0;
  /** Largest Engine.IO packet that was sent, as the server's limit counts it. */
  largestSentBytes = 0;
  announced: Announced = NOTHING_ANNOUNCED;
  lastEvent: SeenEvent | undefined = undefined;
  /** Counts events by name; undefined unless the run counts events without ids. */
  counter: { count(name: string): void; sent(name: string): void } | undefined = undefined;

  /** @param messages that are sent, each as the text or the bytes of a packet without its type */
  sends(messages: readonly (string | Uint8Array)[]): void {
    for (const message of messages) {
      const isText = typeof message === 'string';
      // Measuring text takes time: no character has more than three bytes.
      if ((isText ? message.length * 3 + 1 : message.length) <= this.largestSentBytes) continue;
      this.grow(isText ? Buffer.byteLength(message) + 1 : message.length);
    }
  }

  grow(bytes: number): void {
    if (bytes > this.largestSentBytes) this.largestSentBytes = bytes;
  }

  emits(event: string): void {
    this.sent++;
    if (this.counter !== undefined) this.counter.sent(event);
  }

  /** @param event its text is that of the event that has just been received */
  receives(event: SeenEvent): void {
    this.received++;
    this.lastEvent = event;
    event.receiver = this;
    if (this.counter !== undefined) this.counter.count(event.name);
  }
}
