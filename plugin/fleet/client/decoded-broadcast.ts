/** Broadcasts that are not read in place: the official client's, and those that are written in an unusual way. */
import { crc32 } from 'node:zlib';
import { EVENTS, isBroadcast } from '../../../protocol/events.ts';
import type { BroadcastCopy, CountedEvent } from './client.ts';

class DecodedPayload implements BroadcastCopy {
  readonly #data: unknown;

  constructor(data: unknown) {
    this.#data = data;
  }

  hasSize(size: number): boolean {
    return (typeof this.#data === 'string' || this.#data instanceof Uint8Array) && this.#data.length === size;
  }

  checksum(): number {
    return typeof this.#data === 'string' || this.#data instanceof Uint8Array ? crc32(this.#data) : 0;
  }
}

/** The broadcast of the wire contract. */
export const contractEvent: CountedEvent = {
  name: EVENTS.broadcast,
  report(sink, client, [value], receivedAtUs) {
    if (!isBroadcast(value)) sink.onUnreadable(client);
    else {
      const { seq, sentAtUs, worker, data } = value;
      sink.onBroadcast(client, seq, sentAtUs, worker, receivedAtUs, new DecodedPayload(data));
    }
  },
};
