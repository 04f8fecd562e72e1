/**
 * Reads `["broadcast",{"seq":N,"sentAtUs":M,"worker":"w","data":"…"}]` in place, without decoding text or parsing JSON:
 * this runs once for every message of every connection, and allocates no object and no string. JSON has other ways to
 * write the same; those need the decoder.
 */
import { crc32 } from 'node:zlib';
import { EVENTS } from '../../../../protocol/events.ts';
import type { AwaitedPayload, BroadcastCopy, Client, ClientSink, InPlaceReader } from '../../client/client.ts';
import { lastStringStart } from '../socket-io/offset.ts';
import { ackRequest, headOf, isSame, matches, skipHead } from '../socket-io/packet-head.ts';

const HEAD = Buffer.from('["broadcast",{"seq":');
const SENT_AT = Buffer.from(',"sentAtUs":');
const WORKER = Buffer.from(',"worker":"');
const DATA = Buffer.from('","data":"');
const TAIL = Buffer.from('"}]');
/** From the worker's name to the end, where the payload is an attachment. */
const ATTACHED = Buffer.from('","data":{"_placeholder":true,"num":0}}]');
/** Before the offset that a server with connection state recovery appends. */
const BEFORE_OFFSET = Buffer.from('"},');
/** The contract's integers are exact up to here. */
const MAX_DIGITS = 15;
/** Cached names; far more than there are workers, and a bound for a server that sends a new name each time. */
const MAX_WORKERS = 1024;
const MAX_WORKER_BYTES = 200;

const ZERO = 0x30;
const NINE = 0x39;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;

/** A broadcast whose payload is an attachment. As a copy, it is valid only while it reports. */
class BinaryBroadcast implements AwaitedPayload, BroadcastCopy {
  readonly #seq: number;
  readonly #sentAtUs: number;
  readonly #worker: string;
  #bytes: Buffer = Buffer.alloc(0);
  #start = 0;
  #end = 0;

  constructor(seq: number, sentAtUs: number, worker: string) {
    this.#seq = seq;
    this.#sentAtUs = sentAtUs;
    this.#worker = worker;
  }

  is(seq: number, sentAtUs: number, worker: string): boolean {
    return seq === this.#seq && sentAtUs === this.#sentAtUs && worker === this.#worker;
  }

  report(sink: ClientSink, client: Client, bytes: Buffer, start: number, end: number, receivedAtUs: number): void {
    this.#bytes = bytes;
    this.#start = start;
    this.#end = end;
    sink.onBroadcast(client, this.#seq, this.#sentAtUs, this.#worker, receivedAtUs, this);
  }

  hasSize(size: number): boolean {
    return this.#end - this.#start === size;
  }

  checksum(): number {
    return crc32(this.#bytes.subarray(this.#start, this.#end));
  }
}

/** One for all connections of a process: its fields hold what it read last. */
export class BroadcastReader implements InPlaceReader, BroadcastCopy {
  readonly head = headOf(EVENTS.broadcast);
  seq = 0;
  sentAtUs = 0;
  worker = '';
  /** Where the packet's JSON and the payload in it lie. */
  #bytes: Buffer = Buffer.alloc(0);
  #jsonStart = 0;
  #dataStart = 0;
  #dataEnd = 0;
  #jsonEnd = 0;
  #known: { bytes: Uint8Array; name: string }[] = [];
  /** The worker of the previous message: one broadcast reaches many connections in a row. */
  #last: { bytes: Uint8Array; name: string } = { bytes: new Uint8Array(0), name: '' };
  /** Where the last number ended. */
  #at = 0;
  /** Of the previous packet with an attachment. */
  #attached = new BinaryBroadcast(0, 0, '');

  report(sink: ClientSink, client: Client, bytes: Buffer, start: number, end: number, receivedAtUs: number): boolean {
    if (!this.read(bytes, start, end)) return false;
    sink.onBroadcast(client, this.seq, this.sentAtUs, this.worker, receivedAtUs, this);
    return true;
  }

  /**
   * @param start of the packet's namespace, acknowledgement id or JSON, whichever comes first
   * @returns false if the event is no broadcast, or none that can be read in place
   */
  read(bytes: Buffer, start: number, end: number): boolean {
    const json = skipHead(bytes, start, end);
    const nameEnd = this.#beginning(bytes, json, end);
    if (nameEnd < 0) return false;
    const dataEnd = endOfData(bytes, nameEnd, end);
    if (dataEnd < 0 || !matches(bytes, nameEnd, dataEnd, DATA)) return false;
    this.#bytes = bytes;
    this.#jsonStart = json;
    this.#dataStart = nameEnd + DATA.length;
    this.#dataEnd = dataEnd;
    this.#jsonEnd = end;
    return true;
  }

  awaited(bytes: Buffer, start: number, end: number): AwaitedPayload | undefined {
    // What asks to be acknowledged is left to the decoder, which knows when it is complete.
    if (ackRequest(bytes, start, end) !== undefined) return undefined;
    const nameEnd = this.#beginning(bytes, skipHead(bytes, start, end), end);
    if (nameEnd < 0 || !isSame(bytes, nameEnd, end, ATTACHED)) return undefined;
    const { seq, sentAtUs, worker } = this;
    if (!this.#attached.is(seq, sentAtUs, worker)) this.#attached = new BinaryBroadcast(seq, sentAtUs, worker);
    return this.#attached;
  }

  /** Reads what stands before the payload. @returns where the worker's name ends; -1 if it cannot be read in place */
  #beginning(bytes: Buffer, json: number, end: number): number {
    if (!matches(bytes, json, end, HEAD)) return -1;
    const seq = this.#integer(bytes, json + HEAD.length, end);
    if (seq < 0 || !matches(bytes, this.#at, end, SENT_AT)) return -1;
    const sentAtUs = this.#integer(bytes, this.#at + SENT_AT.length, end);
    if (sentAtUs < 0 || !matches(bytes, this.#at, end, WORKER)) return -1;
    const nameStart = this.#at + WORKER.length;
    let nameEnd = nameStart;
    while (nameEnd < end && bytes[nameEnd] !== QUOTE) {
      if (bytes[nameEnd] === BACKSLASH) return -1;
      nameEnd++;
    }
    if (nameEnd === end || nameEnd - nameStart > MAX_WORKER_BYTES) return -1;
    this.seq = seq;
    this.sentAtUs = sentAtUs;
    this.worker = this.#name(bytes, nameStart, nameEnd);
    return nameEnd;
  }

  hasSize(characters: number): boolean {
    // Characters are bytes as long as they are ASCII and need no escapes.
    if (this.#dataEnd - this.#dataStart === characters) return true;
    return this.#parsed()?.length === characters;
  }

  checksum(): number {
    return crc32(this.#bytes.subarray(this.#dataStart, this.#dataEnd));
  }

  /** The payload, however it is written. */
  #parsed(): string | undefined {
    try {
      const [, { data }] = JSON.parse(this.#bytes.toString('utf8', this.#jsonStart, this.#jsonEnd));
      return typeof data === 'string' ? data : undefined;
    } catch {
      return undefined;
    }
  }

  /** @returns -1 if no integer stands at `start` */
  #integer(bytes: Uint8Array, start: number, end: number): number {
    let value = 0;
    let at = start;
    while (at < end) {
      const byte = bytes[at] as number;
      if (byte < ZERO || byte > NINE) break;
      value = value * 10 + byte - ZERO;
      at++;
    }
    this.#at = at;
    return at === start || at - start > MAX_DIGITS ? -1 : value;
  }

  #name(bytes: Uint8Array, start: number, end: number): string {
    if (isSame(bytes, start, end, this.#last.bytes)) return this.#last.name;
    for (const worker of this.#known) {
      if (isSame(bytes, start, end, worker.bytes)) {
        this.#last = worker;
        return worker.name;
      }
    }
    const copy = Buffer.from(bytes.subarray(start, end));
    if (this.#known.length === MAX_WORKERS) this.#known = [];
    this.#last = { bytes: copy, name: copy.toString() };
    this.#known.push(this.#last);
    return this.#last.name;
  }
}

/** @returns where the payload ends, -1 if it is not the last of what the contract has */
function endOfData(bytes: Uint8Array, start: number, end: number): number {
  const tail = end - TAIL.length;
  if (matches(bytes, tail, end, TAIL)) return tail;
  if (bytes[end - 1] !== CLOSE_BRACKET) return -1;
  const before = lastStringStart(bytes, start, end) - BEFORE_OFFSET.length;
  return before > start && matches(bytes, before, end, BEFORE_OFFSET) ? before : -1;
}
