/**
 * Reads copies of the counted event without decoding them. Leaves packets that it cannot read to the decoder, for
 * example with escapes in a key.
 */
import { crc32 } from 'node:zlib';
import { PATH_WILDCARD } from '../../../../protocol/base/json-path.ts';
import type { ClientSink, EventCopy } from '../../client/client.ts';
import { countedId, type EventPlan, findOtherIds } from '../../client/counted-event.ts';
import { eventHead, isSameBytes, matchesBytes, mayBeginWithHead, namespaceOfPacket } from '../socket-io/packet-head.ts';
import { JsonLocator } from './json-locator.ts';

const QUOTE = 0x22;
const CLOSE_BRACKET = 0x5d;
const EMPTY: Buffer = Buffer.alloc(0);

interface LastId {
  id: Buffer;
  room: Buffer;
  namespace: string;
  value: string | number | undefined;
}

/**
 * Reads copies of the counted event for all connections of a process. The reader is reused for every copy, so as an
 * `EventCopy` it is valid only during the report.
 */
export class EventReader implements EventCopy {
  readonly #plan: EventPlan;
  /** First bytes of the JSON that an event with this name has. */
  readonly #head: Buffer;
  /** Whether every copy must be decoded, because the path of the id or room can select several values. */
  readonly #isDecoded: boolean;
  readonly #id: JsonLocator;
  readonly #room: JsonLocator | undefined;
  readonly #sentAt: JsonLocator | undefined;
  readonly #payload: JsonLocator | undefined;
  /** Buffer of the current copy. Its JSON is `#bytes[#start, #end)`. */
  #bytes = EMPTY;
  /** Id of the previous copy of the event: its bytes and its value. */
  #last: LastId = { id: EMPTY, room: EMPTY, namespace: '', value: undefined };
  #start = 0;
  #end = 0;

  constructor(plan: EventPlan) {
    const { event, id, room, sentAt, payload } = plan;
    this.#plan = plan;
    this.#isDecoded = [id, room, sentAt].some((path) => path?.includes(PATH_WILDCARD));
    this.#head = eventHead(event);
    this.#id = new JsonLocator(inPacket(id));
    this.#room = room && new JsonLocator(inPacket(room));
    this.#sentAt = sentAt && new JsonLocator(inPacket(sentAt));
    this.#payload = payload && new JsonLocator(inPacket(payload));
  }

  /**
   * Returns whether the event may be the counted event. Also true for a name with escapes, which must be decoded to be
   * compared.
   */
  mayCount(bytes: Buffer, json: number, end: number): boolean {
    return mayBeginWithHead(this.#head, bytes, json, end);
  }

  /**
   * Reports a copy to the client's sink.
   * @param start start of the packet after its type: namespace, acknowledgement id or JSON
   * @param json start of the JSON
   * @returns false if it is a different event, or must be decoded
   */
  report(sink: ClientSink, bytes: Buffer, start: number, json: number, end: number, receivedAtUs: number): boolean {
    if (this.#isDecoded || bytes[end - 1] !== CLOSE_BRACKET || !matchesBytes(bytes, json, end, this.#head))
      return false;
    this.#bytes = bytes;
    this.#start = json;
    this.#end = end;
    const failed = this.#find(this.#id) ? (this.#find(this.#room) ? undefined : this.#room) : this.#id;
    if (failed ? !failed.isMissing : !this.#find(this.#payload)) return false;
    const id = failed ? undefined : this.#idIn(namespaceOfPacket(bytes, start, end));
    if (id === undefined) sink.onUnreadable(this.#json);
    else sink.onCopy(id, receivedAtUs, this);
    return true;
  }

  /**
   * Returns the id of the current copy. Reuses the value from the previous copy if id, room and namespace have the same
   * bytes.
   */
  #idIn(namespace: string): string | number | undefined {
    const { start, end } = this.#id;
    const room = this.#room ?? { start: end, end };
    const last = this.#last;
    const isSameId =
      isSameBytes(this.#bytes, start, end, last.id) && isSameBytes(this.#bytes, room.start, room.end, last.room);
    if (isSameId && last.namespace === namespace) return last.value;
    const found = { namespace, id: this.#valueAt(this.#id), room: this.#valueAt(this.#room) };
    const value = countedId(this.#plan, found);
    this.#last = { id: this.#copyOf(start, end), room: this.#copyOf(room.start, room.end), namespace, value };
    return value;
  }

  #copyOf(start: number, end: number): Buffer {
    return Buffer.from(this.#bytes.subarray(start, end));
  }

  bytes(): number {
    return this.#end - this.#start;
  }

  hasSize(size: number): boolean {
    if (this.#payload === undefined) return this.bytes() === size;
    const { start, end } = this.#payload;
    // ASCII text without escapes has as many bytes as characters.
    return this.#bytes[start] === QUOTE && (end - start - 2 === size || this.#text()?.length === size);
  }

  checksum(): number {
    return crc32(this.#text() ?? '');
  }

  sentAt(): unknown {
    return this.#find(this.#sentAt) ? this.#valueAt(this.#sentAt) : undefined;
  }

  otherIds(): [path: string, id: string][] {
    const packet = parsed(this.#bytes, this.#start, this.#end);
    return Array.isArray(packet) ? findOtherIds(this.#plan, packet.slice(1)) : [];
  }

  /** Payload of the current copy; undefined if it is not text. */
  #text(): string | undefined {
    const payload = this.#valueAt(this.#payload);
    return typeof payload === 'string' ? payload : undefined;
  }

  /**
   * Searches the current copy for a value.
   * @returns true if the value is found, or if `locator` is undefined
   */
  #find(locator: JsonLocator | undefined): boolean {
    return locator === undefined || locator.find(this.#bytes, this.#start, this.#end);
  }

  /** Parses the value that the locator found last. */
  #valueAt(locator: JsonLocator | undefined): unknown {
    return locator && parsed(this.#bytes, locator.start, locator.end);
  }

  readonly #json = () => this.#bytes.toString('utf8', this.#start, this.#end);
}

/** Converts a path in the arguments to a path in the packet, where the event's name comes first. */
function inPacket([argument, ...rest]: readonly string[]): string[] {
  return [String(Number(argument) + 1), ...rest];
}

/** Parses the bytes as JSON; undefined if they are not JSON. */
function parsed(bytes: Buffer, start: number, end: number): unknown {
  try {
    return JSON.parse(bytes.toString('utf8', start, end));
  } catch {
    return undefined;
  }
}
