/**
 * Reads parts of an event packet without decoding it: the head `/namespace,17["name",…]`, and the offset at the end.
 */

const COMMA = 0x2c;
const SLASH = 0x2f;
const ZERO = 0x30;
const NINE = 0x39;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const BRACKET = 0x5b;

/**
 * Returns the first bytes of the JSON of an event with this name. An event whose name has escapes begins differently.
 */
export function eventHead(event: string): Buffer {
  return Buffer.from(`[${JSON.stringify(event)}`);
}

/**
 * Returns whether the JSON of a received event may begin with this head. Also true for a name with escapes, which must
 * be decoded to be compared.
 * @param json start of the event's JSON
 */
export function mayBeginWithHead(head: Uint8Array, bytes: Uint8Array, json: number, end: number): boolean {
  if (matchesBytes(bytes, json, end, head)) return true;
  for (let at = json + 2; at < end && bytes[at] !== QUOTE; at++) if (bytes[at] === BACKSLASH) return true;
  return false;
}

/**
 * Returns the event's name; undefined if the packet must be decoded to read it.
 * @param start start of the packet after its type: namespace, acknowledgement id or JSON
 */
export function eventName(bytes: Uint8Array, start: number, end: number): string | undefined {
  const json = jsonStart(bytes, start, end);
  if (json + 2 >= end || bytes[json] !== BRACKET || bytes[json + 1] !== QUOTE) return undefined;
  let at = json + 2;
  while (at < end && bytes[at] !== QUOTE) {
    if (bytes[at] === BACKSLASH) return undefined;
    at++;
  }
  return at === end ? undefined : Buffer.from(bytes.subarray(json + 2, at)).toString();
}

/**
 * Returns the namespace and id of the acknowledgement that an event requests; undefined if it requests none.
 * @param start start of the packet after its type
 */
export function ackRequest(bytes: Buffer, start: number, end: number): { namespace: string; id: number } | undefined {
  const json = jsonStart(bytes, start, end);
  const last = bytes[json - 1] as number;
  if (json === start || last < ZERO || last > NINE) return undefined;
  const head = bytes.toString('utf8', start, json);
  const comma = head.lastIndexOf(',');
  return { namespace: comma < 0 ? '/' : head.slice(0, comma), id: Number(head.slice(comma + 1)) };
}

/**
 * Returns the namespace of a packet.
 * @param start start of the packet after its type
 */
export function namespaceOfPacket(bytes: Buffer, start: number, end: number): string {
  if (bytes[start] !== SLASH) return '/';
  const comma = bytes.indexOf(COMMA, start);
  return bytes.toString('utf8', start, comma < 0 ? end : Math.min(comma, end));
}

/**
 * Returns the start of the JSON, after the namespace and the acknowledgement id. Never reads beyond `end`, where bytes
 * of older messages follow.
 */
export function jsonStart(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  if (at < end && bytes[at] === SLASH) {
    while (at < end && bytes[at] !== COMMA) at++;
    at++;
  }
  while (at < end && (bytes[at] as number) >= ZERO && (bytes[at] as number) <= NINE) at++;
  return at;
}

/**
 * Returns the event's offset for connection state recovery.
 * @param json start of the event's JSON
 */
export function recoveryOffsetIn(bytes: Buffer, json: number, end: number): string | undefined {
  try {
    return recoveryOffsetOf(JSON.parse(bytes.toString('utf8', json, end)));
  } catch {
    return undefined; // Invalid JSON: the event is still counted and acknowledged.
  }
}

/**
 * Returns the offset for connection state recovery: the last element of the packet if it is text, as in
 * socket.io-client.
 */
export function recoveryOffsetOf(packet: unknown[]): string | undefined {
  const last = packet.at(-1);
  return typeof last === 'string' ? last : undefined;
}

export function matchesBytes(bytes: Uint8Array, at: number, end: number, pattern: Uint8Array): boolean {
  if (end - at < pattern.length) return false;
  for (let i = 0; i < pattern.length; i++) if (bytes[at + i] !== pattern[i]) return false;
  return true;
}

export function isSameBytes(bytes: Uint8Array, start: number, end: number, other: Uint8Array): boolean {
  return end - start === other.length && matchesBytes(bytes, start, end, other);
}
