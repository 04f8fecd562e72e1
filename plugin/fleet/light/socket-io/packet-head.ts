/** Reads an event packet in place: its head `/namespace,17["name",…]`, and the offset at its end. */

const COMMA = 0x2c;
const SLASH = 0x2f;
const ZERO = 0x30;
const NINE = 0x39;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const BRACKET = 0x5b;

/** Returns the start of the JSON of an event with this name, unless the name is written with escapes. */
export function headOf(event: string): Buffer {
  return Buffer.from(`[${JSON.stringify(event)}`);
}

/** Returns whether an event has this head, or may have it: a name with escapes must be decoded. @param json start of its JSON */
export function mayHaveHead(head: Uint8Array, bytes: Uint8Array, json: number, end: number): boolean {
  if (matches(bytes, json, end, head)) return true;
  for (let at = json + 2; at < end && bytes[at] !== QUOTE; at++) if (bytes[at] === BACKSLASH) return true;
  return false;
}

/**
 * Returns the event's name, if it can be read without decoding the packet.
 * @param start start of the packet's namespace, acknowledgement id or JSON, whichever comes first
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

/** Returns namespace and id of the acknowledgement that an undecoded event requests, if any. @param start as in `eventName` */
export function ackRequest(bytes: Buffer, start: number, end: number): { namespace: string; id: number } | undefined {
  const json = skipHead(bytes, start, end);
  const last = bytes[json - 1] as number;
  if (json === start || last < ZERO || last > NINE) return undefined;
  const head = bytes.toString('utf8', start, json);
  const comma = head.lastIndexOf(',');
  return { namespace: comma < 0 ? '/' : head.slice(0, comma), id: Number(head.slice(comma + 1)) };
}

/** @param start as in `eventName` */
export function namespaceOf(bytes: Buffer, start: number, end: number): string {
  if (bytes[start] !== SLASH) return '/';
  const comma = bytes.indexOf(COMMA, start);
  return bytes.toString('utf8', start, comma < 0 ? end : Math.min(comma, end));
}

/** Skips the namespace and the acknowledgement id. Never reads beyond `end`, where older messages remain. */
export function skipHead(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  if (at < end && bytes[at] === SLASH) {
    while (at < end && bytes[at] !== COMMA) at++;
    at++;
  }
  while (at < end && (bytes[at] as number) >= ZERO && (bytes[at] as number) <= NINE) at++;
  return at;
}

/** Returns the offset in an event that is not decoded. @param json start of its JSON */
export function offsetIn(bytes: Buffer, json: number, end: number): string | undefined {
  try {
    return offsetOf(JSON.parse(bytes.toString('utf8', json, end)));
  } catch {
    return undefined; // invalid JSON; counted and acknowledged without decoding, like any event without a waiting step
  }
}

/** Returns the last of name and arguments, if it is text, as socket.io-client does. */
export function offsetOf(packet: unknown[]): string | undefined {
  const last = packet.at(-1);
  return typeof last === 'string' ? last : undefined;
}

export function matches(bytes: Uint8Array, at: number, end: number, pattern: Uint8Array): boolean {
  if (end - at < pattern.length) return false;
  for (let i = 0; i < pattern.length; i++) if (bytes[at + i] !== pattern[i]) return false;
  return true;
}

export function isSame(bytes: Uint8Array, start: number, end: number, other: Uint8Array): boolean {
  return end - start === other.length && matches(bytes, start, end, other);
}
