/**
 * Reads copies of the counted event without decoding them, because it runs for every message of every connection. All copies of a broadcast
 * usually have the same bytes up to their payload: id and room are searched only in the first copy, and the others are compared with it
 * without allocations. Packets that it cannot read, such as keys with escapes, are left to the decoder.
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
/** From this length on, a native comparison is cheaper. */
const NATIVE_COMPARE_BYTES = 128;
const PLACEHOLDER = Buffer.from('{"_placeholder":true,"num":0}');
const EMPTY: Buffer = Buffer.alloc(0);

/** Broadcasts whose marks are kept, because copies of concurrent broadcasts arrive interleaved. */
const MAX_MARKS = 8;

/** The bytes that all copies of a broadcast share. */
interface Marks {
  readonly id: string | number;
  /** Namespace with its comma; empty for the main namespace. */
  readonly namespace: Buffer;
  /** JSON up to the payload, or up to the end of id and room. */
  readonly prefix: Buffer;
}

/** Shared by all connections of a process. As a `Copy`, it is valid only during the report. */
export class EventReader implements Copy {
  /** Start of the event's JSON. */
  readonly head: Buffer;
  readonly #plan: EventPlan;
  /** Whether a copy can have several values, which requires the decoder. */
  readonly #isDecoded: boolean;
  readonly #id: JsonLocator;
  readonly #room: JsonLocator | undefined;
  readonly #sentAt: JsonLocator | undefined;
  readonly #payload: JsonLocator | undefined;
  /** The copy being reported: its JSON is `#bytes[#start, #end)`. */
  #bytes = EMPTY;
  #start = 0;
  #end = 0;
  /** Marks of the previous copy, and of recent broadcasts. */
  #marks: Marks = { id: '', namespace: EMPTY, prefix: EMPTY };
  readonly #recent: Marks[] = [];
  #oldest = 0;
  /** The previous copy whose payload was an attachment. */
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
   * @param start start of the packet's namespace, acknowledgement id or JSON, whichever comes first
   * @returns false if it is another event or must be decoded
   */
  report(sink: ClientSink, bytes: Buffer, start: number, end: number, receivedAtUs: number): boolean {
    if (!this.#read(bytes, start, skipHead(bytes, start, end), end)) return false;
    sink.onCopy(this.#marks.id, receivedAtUs, this);
    return true;
  }

  /**
   * Reads a packet with one attachment.
   * @param start as for `report`
   * @returns the copy that waits for the attachment, shared by all copies of a broadcast; undefined if it is another event or must be
   * decoded
   */
  awaited(bytes: Buffer, start: number, end: number): AttachedCopy | undefined {
    // A packet with an acknowledgement id is left to the decoder, which knows when the packet is complete.
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
    // For ASCII text without escapes, the length in bytes is the number of characters.
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

  /** End of the payload after its quote; -1 if it is not text. */
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

  /** Searches id, room and payload. @returns undefined if they are missing */
  #find(bytes: Buffer, start: number, json: number, end: number): Marks | undefined {
    if (!matches(bytes, json, end, this.head) || !this.#id.find(bytes, json, end)) return undefined;
    const { start: idStart, end: idEnd } = this.#id;
    if (this.#payload && !(this.#payload.find(bytes, json, end) && this.#payload.start > idEnd)) return undefined;
    if (this.#room && !this.#room.find(bytes, json, end)) return undefined;
    const name = namespaceOf(bytes, start, end);
    const room = this.#room && parsed(bytes, this.#room.start, this.#room.end);
    const id = idIn(this.#plan, { namespace: name, id: parsed(bytes, idStart, idEnd), room });
    if (id === undefined) return undefined;
    const namespace = name === '/' ? EMPTY : Buffer.from(`${name},`);
    // Includes the byte after the id, so that 12 does not match 1.
    const marksEnd = this.#payload?.start ?? Math.max(idEnd, this.#room?.end ?? 0) + 1;
    const marks = { id, namespace, prefix: Buffer.from(bytes.subarray(json, marksEnd)) };
    this.#recent[this.#oldest] = marks;
    this.#oldest = (this.#oldest + 1) % MAX_MARKS;
    return marks;
  }
}

/** A copy whose payload is an attachment. As a `Copy`, it is valid only during the report. */
export class AttachedCopy implements Copy {
  readonly id: string | number;
  #payload = EMPTY;

  constructor(id: string | number) {
    this.id = id;
  }

  report(sink: ClientSink, payload: Buffer, receivedAtUs: number): void {
    this.#payload = payload;
    sink.onCopy(this.id, receivedAtUs, this);
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

/** Converts the path in the arguments to one in the packet, where the event's name comes first. */
function inPacket([argument, ...rest]: readonly string[]): string[] {
  return [String(Number(argument) + 1), ...rest];
}

/** Returns undefined if it is not JSON. */
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
  if (length < NATIVE_COMPARE_BYTES) return matches(bytes, start, end, prefix);
  return bytes.compare(prefix, 0, length, start, start + length) === 0;
}
