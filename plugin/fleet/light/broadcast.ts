/**
 * Reads `["broadcast",{"seq":N,"sentAtUs":M,"worker":"w","data":"…"}]` in place, without decoding text or parsing JSON:
 * this runs once for every message of every connection, and allocates no object and no string. JSON has other ways to
 * write the same; those need the decoder.
 */
import { crc32 } from 'node:zlib';
import type { BroadcastCopy } from '../client.ts';

const NAME = Buffer.from('["broadcast"');
const HEAD = Buffer.from('["broadcast",{"seq":');
const SENT_AT = Buffer.from(',"sentAtUs":');
const WORKER = Buffer.from(',"worker":"');
const DATA = Buffer.from('","data":"');
const TAIL = Buffer.from('"}]');
/** The contract's integers are exact up to here. */
const MAX_DIGITS = 15;
/** Cached names; far more than there are workers, and a bound for a server that sends a new name each time. */
const MAX_WORKERS = 1024;
const MAX_WORKER_BYTES = 200;

const COMMA = 0x2c;
const SLASH = 0x2f;
const ZERO = 0x30;
const NINE = 0x39;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const BRACKET = 0x5b;

/** One for all connections of a process: its fields hold what it read last. */
export class BroadcastReader implements BroadcastCopy {
  seq = 0;
  sentAtUs = 0;
  worker = '';
  /** Where the packet's JSON and the payload in it lie. */
  #bytes: Buffer = Buffer.alloc(0);
  #jsonStart = 0;
  #dataStart = 0;
  #dataEnd = 0;
  #known: { bytes: Uint8Array; name: string }[] = [];
  /** The worker of the previous message: one broadcast reaches many connections in a row. */
  #last: { bytes: Uint8Array; name: string } = { bytes: new Uint8Array(0), name: '' };
  /** Where the last number ended. */
  #at = 0;

  /**
   * @param start of the packet's namespace, acknowledgement id or JSON, whichever comes first
   * @returns false if the event is no broadcast, or none that can be read in place
   */
  read(bytes: Buffer, start: number, end: number): boolean {
    const json = skipHead(bytes, start, end);
    if (!matches(bytes, json, end, HEAD)) return false;
    const seq = this.#integer(bytes, json + HEAD.length, end);
    if (seq < 0 || !matches(bytes, this.#at, end, SENT_AT)) return false;
    const sentAtUs = this.#integer(bytes, this.#at + SENT_AT.length, end);
    if (sentAtUs < 0 || !matches(bytes, this.#at, end, WORKER)) return false;
    const nameStart = this.#at + WORKER.length;
    let nameEnd = nameStart;
    while (nameEnd < end && bytes[nameEnd] !== QUOTE) {
      if (bytes[nameEnd] === BACKSLASH) return false;
      nameEnd++;
    }
    if (nameEnd === end || nameEnd - nameStart > MAX_WORKER_BYTES) return false;
    const dataEnd = end - TAIL.length;
    if (!matches(bytes, nameEnd, dataEnd, DATA) || !matches(bytes, dataEnd, end, TAIL)) return false;
    this.#bytes = bytes;
    this.#jsonStart = json;
    this.#dataStart = nameEnd + DATA.length;
    this.#dataEnd = dataEnd;
    this.seq = seq;
    this.sentAtUs = sentAtUs;
    this.worker = this.#name(bytes, nameStart, nameEnd);
    return true;
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
      const [, { data }] = JSON.parse(this.#bytes.toString('utf8', this.#jsonStart, this.#dataEnd + TAIL.length));
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

/**
 * Whether an event is, or may be, a broadcast: of a name that is written with escapes, only the decoder knows.
 * @param start as in `BroadcastReader.read`
 */
export function mayBeBroadcast(bytes: Uint8Array, start: number, end: number): boolean {
  const json = skipHead(bytes, start, end);
  if (matches(bytes, json, end, NAME)) return true;
  for (let at = json + 2; at < end && bytes[at] !== QUOTE; at++) if (bytes[at] === BACKSLASH) return true;
  return false;
}

/**
 * The name of an event, if it can be read without decoding the whole packet.
 * @param start as in `BroadcastReader.read`
 */
export function eventName(bytes: Uint8Array, start: number, end: number): string | undefined {
  const json = skipHead(bytes, start, end);
  if (json + 2 >= end || bytes[json] !== BRACKET || bytes[json + 1] !== QUOTE) return undefined;
  let at = json + 2;
  while (at < end && bytes[at] !== QUOTE) {
    if (bytes[at] === BACKSLASH) return undefined;
    at++;
  }
  return at === end ? undefined : Buffer.from(bytes.subarray(json + 2, at)).toString();
}

/** Skips the namespace and the acknowledgement id. Never reads beyond `end`: older messages lie there. */
function skipHead(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  if (at < end && bytes[at] === SLASH) {
    while (at < end && bytes[at] !== COMMA) at++;
    at++;
  }
  while (at < end && (bytes[at] as number) >= ZERO && (bytes[at] as number) <= NINE) at++;
  return at;
}

function matches(bytes: Uint8Array, at: number, end: number, pattern: Uint8Array): boolean {
  if (end - at < pattern.length) return false;
  for (let i = 0; i < pattern.length; i++) if (bytes[at + i] !== pattern[i]) return false;
  return true;
}

function isSame(bytes: Uint8Array, start: number, end: number, other: Uint8Array): boolean {
  return end - start === other.length && matches(bytes, start, end, other);
}
