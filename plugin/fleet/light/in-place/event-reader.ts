/**
 * Reads copies of the counted event in place: this runs once for every message of every connection, and as all copies of a
 * broadcast are usually the same bytes up to their payload, it looks for its marks in the first one only, and allocates
 * nothing for the others. What it cannot read, such as keys with escapes, is left to the decoder.
 */
import { crc32 } from 'node:zlib';
import { EACH } from '../../../../protocol/base/json-path.ts';
import type { ClientSink, Copy } from '../../client/client.ts';
import { type EventPlan, idIn, otherIds } from '../../client/counted-event.ts';
import { ackRequest, headOf, matches, namespaceOf, skipHead } from '../socket-io/packet-head.ts';
import { JsonLocator, skipString } from './json-locator.ts';

const SLASH = 0x2f;
const QUOTE = 0x22;
const CLOSE_BRACKET = 0x5d;
/** From here on, comparing natively is cheaper. */
const FAR_BYTES = 128;
const PLACEHOLDER = Buffer.from('{"_placeholder":true,"num":0}');
const NOTHING: Buffer = Buffer.alloc(0);

/** Broadcasts under way at the same time come to each connection in turns. */
const MAX_MARKS = 8;

/** What the copies of a broadcast have in common. */
interface Marks {
  readonly id: string | number;
  /** With the comma behind it; empty for the main one. */
  readonly namespace: Buffer;
  /** Up to the payload, or up to the end of id and room. */
  readonly prefix: Buffer;
}

/** One for all connections of a process; as a copy, it is valid only while it reports. */
export class EventReader implements Copy {
  /** How the JSON of the event begins. */
  readonly head: Buffer;
  readonly #plan: EventPlan;
  /** Where one copy has several values, all have to be found. */
  readonly #isDecoded: boolean;
  readonly #id: JsonLocator;
  readonly #room: JsonLocator | undefined;
  readonly #sentAt: JsonLocator | undefined;
  readonly #payload: JsonLocator | undefined;
  /** The copy that is being reported: its JSON, and its payload if that has been found. */
  #bytes = NOTHING;
  #start = 0;
  #end = 0;
  /** The previous copy's, and those of the broadcasts before. */
  #marks: Marks = { id: '', namespace: NOTHING, prefix: NOTHING };
  readonly #recent: Marks[] = [];
  #oldest = 0;
  /** The previous copy whose payload followed in a message of its own. */
  #attached: AttachedCopy | undefined;

  constructor(plan: EventPlan) {
    const { event, id, room, sentAt, payload } = plan;
    this.#plan = plan;
    this.#isDecoded = [id, room, sentAt].some((path) => path?.includes(EACH));
    this.head = headOf(event);
    this.#id = new JsonLocator(inPacket(id));
    this.#room = room && new JsonLocator(inPacket(room));
    this.#sentAt = sentAt && new JsonLocator(inPacket(sentAt));
    this.#payload = payload && new JsonLocator(inPacket(payload));
  }

  /**
   * Reports a copy to the sink.
   * @param start of the packet's namespace, acknowledgement id or JSON, whichever comes first
   * @returns false if it is another event, or has to be decoded
   */
  report(sink: ClientSink, bytes: Buffer, start: number, end: number, receivedAtUs: number): boolean {
    if (!this.#read(bytes, start, skipHead(bytes, start, end), end)) return false;
    sink.onCopy(this.#marks.id, receivedAtUs, this);
    return true;
  }

  /**
   * Reads a packet with one attachment.
   * @param start as for `report`
   * @returns what awaits the attachment, shared by the copies of a broadcast; undefined if it is another event, or has to be decoded
   */
  awaited(bytes: Buffer, start: number, end: number): AttachedCopy | undefined {
    // What asks to be acknowledged is left to the decoder, which knows when it is complete.
    if (this.#payload === undefined || ackRequest(bytes, start, end) !== undefined) return undefined;
    const json = skipHead(bytes, start, end);
    if (!this.#read(bytes, start, json, end) || !matches(bytes, this.#payloadStart, end, PLACEHOLDER)) return undefined;
    if (this.#attached?.id !== this.#marks.id) this.#attached = new AttachedCopy(this.#marks.id);
    return this.#attached;
  }

  bytes(): number {
    return this.#end - this.#start;
  }

  hasSize(size: number): boolean {
    if (this.#payload === undefined) return this.bytes() === size;
    const [start, end] = [this.#payloadStart, this.#payloadEnd()];
    if (end < 0) return false;
    // Characters are bytes as long as they are ASCII and need no escapes.
    if (end - start - 2 === size) return true;
    const text = parsed(this.#bytes, start, end);
    return typeof text === 'string' && text.length === size;
  }

  checksum(): number {
    const end = this.#payloadEnd();
    return end < 0 ? 0 : crc32(this.#bytes.subarray(this.#payloadStart + 1, end - 1));
  }

  sentAt(): unknown {
    if (!this.#sentAt?.find(this.#bytes, this.#start, this.#end)) return undefined;
    return parsed(this.#bytes, this.#sentAt.start, this.#sentAt.end);
  }

  otherIds(): [path: string, id: string][] {
    const packet = parsed(this.#bytes, this.#start, this.#end);
    return Array.isArray(packet) ? otherIds(this.#plan, packet.slice(1)) : [];
  }

  get #payloadStart(): number {
    return this.#start + this.#marks.prefix.length;
  }

  /** Behind its quote; -1 if it is no text. */
  #payloadEnd(): number {
    if (this.#payload === undefined || this.#bytes[this.#payloadStart] !== QUOTE) return -1;
    return skipString(this.#bytes, this.#payloadStart, this.#end);
  }

  #read(bytes: Buffer, start: number, json: number, end: number): boolean {
    if (this.#isDecoded || bytes[end - 1] !== CLOSE_BRACKET) return false;
    const marks = this.#known(bytes, start, json, end) ?? this.#find(bytes, start, json, end);
    if (marks === undefined) return false;
    this.#marks = marks;
    this.#bytes = bytes;
    this.#start = json;
    this.#end = end;
    return true;
  }

  #known(bytes: Buffer, start: number, json: number, end: number): Marks | undefined {
    if (hasMarks(bytes, start, json, end, this.#marks)) return this.#marks;
    for (const marks of this.#recent) if (hasMarks(bytes, start, json, end, marks)) return marks;
    return undefined;
  }

  /** @returns undefined if the marks are not there */
  #find(bytes: Buffer, start: number, json: number, end: number): Marks | undefined {
    if (!matches(bytes, json, end, this.head) || !this.#id.find(bytes, json, end)) return undefined;
    const { start: idStart, end: idEnd } = this.#id;
    if (this.#payload && !(this.#payload.find(bytes, json, end) && this.#payload.start > idEnd)) return undefined;
    if (this.#room && !this.#room.find(bytes, json, end)) return undefined;
    const name = namespaceOf(bytes, start, end);
    const room = this.#room && parsed(bytes, this.#room.start, this.#room.end);
    const id = idIn(this.#plan, { namespace: name, id: parsed(bytes, idStart, idEnd), room });
    if (id === undefined) return undefined;
    const namespace = name === '/' ? NOTHING : Buffer.from(`${name},`);
    // With the byte behind it, so that 12 is not taken for 1.
    const marksEnd = this.#payload?.start ?? Math.max(idEnd, this.#room?.end ?? 0) + 1;
    const marks = { id, namespace, prefix: Buffer.from(bytes.subarray(json, marksEnd)) };
    this.#recent[this.#oldest] = marks;
    this.#oldest = (this.#oldest + 1) % MAX_MARKS;
    return marks;
  }
}

/** A copy whose payload follows in a message of its own. As a copy, it is valid only while it reports. */
export class AttachedCopy implements Copy {
  readonly id: string | number;
  #payload = NOTHING;

  constructor(id: string | number) {
    this.id = id;
  }

  report(sink: ClientSink, payload: Buffer, receivedAtUs: number): void {
    this.#payload = payload;
    sink.onCopy(this.id, receivedAtUs, this);
    this.#payload = NOTHING;
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

/** In a packet, the name of the event stands before its arguments. */
function inPacket([argument, ...rest]: readonly string[]): string[] {
  return [String(Number(argument) + 1), ...rest];
}

/** @returns undefined if it is no JSON */
function parsed(bytes: Buffer, start: number, end: number): unknown {
  try {
    return JSON.parse(bytes.toString('utf8', start, end));
  } catch {
    return undefined;
  }
}

function hasMarks(bytes: Buffer, start: number, json: number, end: number, { namespace, prefix }: Marks): boolean {
  if (namespace.length === 0 ? bytes[start] === SLASH : !matches(bytes, start, end, namespace)) return false;
  return beginsWith(bytes, json, end, prefix);
}

function beginsWith(bytes: Buffer, start: number, end: number, prefix: Buffer): boolean {
  const { length } = prefix;
  if (length === 0 || end - start <= length) return false;
  if (length < FAR_BYTES) return matches(bytes, start, end, prefix);
  return bytes.compare(prefix, 0, length, start, start + length) === 0;
}
