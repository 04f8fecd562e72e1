/**
 * Checks that payloads are JSON lists, as socket.io-parser does. The list of an event begins with its name. A payload
 * with the same bytes as a recent valid payload is not parsed again. If too many payloads differ, parsing would use too
 * much of the generator's CPU, so only their first and last bracket are checked.
 */

/** Number of recent payloads that are kept for comparison. Copies of several broadcasts can arrive interleaved. */
const MAX_KNOWN = 4;
/** Largest payload in bytes that is kept for comparison. Larger payloads are parsed every time. */
const MAX_KNOWN_BYTES = 65_536;
/** Limit of parsed bytes per second. Parsing up to it takes about 0.5 % of a CPU. */
const MAX_PARSED_BYTES_PER_SEC = 2 ** 21;
const SPACE = ' '.charCodeAt(0);
const OPENING = '['.charCodeAt(0);
const CLOSING = ']'.charCodeAt(0);
/** Names of events that socket.io-client itself emits. Servers must not send them. */
const RESERVED = ['connect', 'connect_error', 'disconnect', 'disconnecting', 'newListener', 'removeListener'];

interface KnownPayload<Reading> {
  bytes: Buffer;
  /** Number of bytes of the payload in `bytes`. */
  length: number;
  /** Result of reading the payload; undefined before the first payload. */
  reading: Reading | undefined;
}

/**
 * Reads a payload from `bytes[start, end)`.
 * @returns the values to keep; undefined if the payload is invalid
 */
type Read<Reading> = (payload: unknown[], bytes: Buffer, start: number, end: number) => Reading | undefined;

export class PayloadCheck<Reading extends object> {
  readonly #read: Read<Reading>;
  readonly #known = Array.from(
    { length: MAX_KNOWN },
    (): KnownPayload<Reading> => ({ bytes: Buffer.alloc(0), length: 0, reading: undefined }),
  );
  #last = 0;
  #second = 0;
  #parsedBytes = 0;

  constructor(read: Read<Reading>) {
    this.#read = read;
  }

  /**
   * Checks a payload.
   * @param start start of the JSON; a packet without JSON is valid, as in socket.io-parser
   * @returns the values read from these bytes; `unread` if the bytes were not parsed
   */
  check(bytes: Buffer, start: number, end: number): Reading | 'unread' | 'invalid' {
    if (start >= end) return 'unread';
    const known = this.#find(bytes, start, end);
    if (known !== undefined) return known;
    if (this.#isOverRate(end - start)) {
      return isEnd(bytes[start], OPENING) && isEnd(bytes[end - 1], CLOSING) ? 'unread' : 'invalid';
    }
    let reading: Reading | undefined;
    try {
      const payload = JSON.parse(bytes.toString('utf8', start, end));
      if (Array.isArray(payload)) reading = this.#read(payload, bytes, start, end);
    } catch {
      // Invalid JSON leaves `reading` undefined.
    }
    if (reading === undefined) return 'invalid';
    this.#keep(bytes, start, end, reading);
    return reading;
  }

  #isOverRate(sizeBytes: number): boolean {
    const second = Math.trunc(performance.now() / 1000);
    if (second !== this.#second) this.#parsedBytes = 0;
    this.#second = second;
    this.#parsedBytes += sizeBytes;
    return this.#parsedBytes > MAX_PARSED_BYTES_PER_SEC;
  }

  #find(bytes: Buffer, start: number, end: number): Reading | undefined {
    const length = end - start;
    for (let offset = 0; offset < MAX_KNOWN; offset++) {
      const at = (this.#last + offset) % MAX_KNOWN;
      const known = this.#known[at] as KnownPayload<Reading>;
      if (known.length !== length || bytes.compare(known.bytes, 0, length, start, end) !== 0) continue;
      this.#last = at;
      return known.reading;
    }
    return undefined;
  }

  #keep(bytes: Buffer, start: number, end: number, reading: Reading): void {
    const length = end - start;
    if (length > MAX_KNOWN_BYTES) return;
    this.#last = (this.#last + 1) % MAX_KNOWN;
    const known = this.#known[this.#last] as KnownPayload<Reading>;
    if (known.bytes.length < length) known.bytes = Buffer.allocUnsafeSlow(length);
    bytes.copy(known.bytes, 0, start, end);
    known.length = length;
    known.reading = reading;
  }
}

/** Returns whether the value is allowed as the name of an event. */
export function isEventName(name: unknown): boolean {
  return typeof name === 'number' || (typeof name === 'string' && !RESERVED.includes(name));
}

/** Returns whether the byte is the given bracket, or whitespace, which is allowed around JSON. */
function isEnd(byte: number | undefined, bracket: number): boolean {
  return byte === bracket || (byte !== undefined && byte <= SPACE);
}
