/**
 * Reads the id of an event of the server's own in place: like broadcast.ts, once for every copy that a connection
 * receives. What it cannot read, such as keys with escapes, is left to the decoder.
 */
import type { Client, ClientSink, InPlaceReader, OwnEventCopy } from '../../client/client.ts';
import { idOf, type OwnEventPlan } from '../../client/own-event.ts';
import { headOf, isSame, matches, skipHead } from '../socket-io/packet-head.ts';
import { JsonLocator } from './json-locator.ts';

const CLOSE_BRACKET = 0x5d;
/** From here on, comparing with the previous copy is cheaper than looking for the id. */
const FAR_BYTES = 128;

const NEAR = Buffer.alloc(0);

/** One for all connections of a process; as a copy, it is valid only while it reports. */
export class OwnEventReader implements InPlaceReader, OwnEventCopy {
  readonly head: Buffer;
  readonly #id: JsonLocator;
  readonly #sentAt: JsonLocator | undefined;
  #bytes: Buffer = Buffer.alloc(0);
  #start = 0;
  #end = 0;
  /** The id of the previous copy: one broadcast reaches many connections in a row. */
  #lastBytes: Buffer = Buffer.alloc(0);
  #lastId = '';
  /** What the previous copy had up to the end of its id, if that was far. */
  #prefix: Buffer = NEAR;

  constructor({ event, id, sentAt }: OwnEventPlan) {
    this.head = headOf(event);
    this.#id = new JsonLocator(inPacket(id));
    this.#sentAt = sentAt && new JsonLocator(inPacket(sentAt));
  }

  report(sink: ClientSink, client: Client, bytes: Buffer, start: number, end: number, receivedAtUs: number): boolean {
    const json = skipHead(bytes, start, end);
    if (!matches(bytes, json, end, this.head) || bytes[end - 1] !== CLOSE_BRACKET) return false;
    if (!this.#repeats(bytes, json, end) && !this.#read(bytes, json, end)) return false;
    this.#bytes = bytes;
    this.#start = json;
    this.#end = end;
    sink.onOwnEvent(client, this.#lastId, receivedAtUs, this);
    return true;
  }

  /** Where the id stands is known of plain JSON only. */
  awaited(): undefined {
    return undefined;
  }

  bytes(): number {
    return this.#end - this.#start;
  }

  hasSize(size: number): boolean {
    return this.bytes() === size;
  }

  checksum(): number {
    return 0;
  }

  sentAt(): unknown {
    if (!this.#sentAt?.find(this.#bytes, this.#start, this.#end)) return undefined;
    return parsed(this.#bytes, this.#sentAt);
  }

  /** All copies of a broadcast are usually the same bytes. */
  #repeats(bytes: Buffer, json: number, end: number): boolean {
    const { length } = this.#prefix;
    return length > 0 && end - json > length && bytes.compare(this.#prefix, 0, length, json, json + length) === 0;
  }

  /** Into `#lastId`. @returns false if there is no string and no number */
  #read(bytes: Buffer, json: number, end: number): boolean {
    if (!this.#id.find(bytes, json, end)) return false;
    const { start, end: idEnd } = this.#id;
    if (!isSame(bytes, start, idEnd, this.#lastBytes)) {
      const id = idOf(parsed(bytes, this.#id));
      if (id === undefined) return false;
      this.#lastBytes = Buffer.from(bytes.subarray(start, idEnd));
      this.#lastId = id;
    }
    // With the byte behind it, so that 12 is not taken for 1.
    this.#prefix = idEnd - json < FAR_BYTES ? NEAR : Buffer.from(bytes.subarray(json, idEnd + 1));
    return true;
  }
}

/** In a packet, the name of the event stands before its arguments. */
function inPacket([argument, ...rest]: readonly string[]): string[] {
  return [String(Number(argument) + 1), ...rest];
}

/** @returns undefined if it is no JSON */
function parsed(bytes: Buffer, { start, end }: JsonLocator): unknown {
  try {
    return JSON.parse(bytes.toString('utf8', start, end));
  } catch {
    return undefined;
  }
}
