import { crc32 } from 'node:zlib';
import type { ClientSink, Copy } from '../../client/client.ts';
import type { SeenEvent } from '../../client/seen-events.ts';

const EMPTY: Buffer = Buffer.alloc(0);

/** A copy whose payload is an attachment. As a `Copy`, it is valid only during the report. */
export class AttachedCopy implements Copy {
  /** Entry of the event's name. */
  readonly seen: SeenEvent;
  readonly #id: string | number;
  #payload = EMPTY;

  constructor(id: string | number, seen: SeenEvent) {
    this.#id = id;
    this.seen = seen;
  }

  report(sink: ClientSink, payload: Buffer, receivedAtUs: number): void {
    this.#payload = payload;
    sink.onCopy(this.#id, receivedAtUs, this);
    this.#payload = EMPTY;
  }

  bytes(): number {
    return this.#payload.length;
  }

  hasSize(size: number): boolean {
    return this.#payload.length === size;
  }

  checksum(): number {
    return crc32(this.#payload);
  }

  sentAt(): undefined {
    return undefined;
  }

  otherIds(): [] {
    return [];
  }
}
