/**
 * Checks payloads that are not decoded, as socket.io-parser does: a JSON list that, for an event, begins with a name. Only the first copy
 * of a broadcast is parsed; copies with the same bytes are compared natively. If all copies differ, parsing would use too much of the
 * generator's CPU, so above a rate only the brackets at both ends are checked.
 */

/** Number of payloads kept, because copies of concurrent broadcasts arrive interleaved. */
const MAX_KNOWN = 4;
/** Larger payloads are not kept, so every copy is parsed. */
const MAX_KNOWN_BYTES = 65_536;
/** Limit of parsed bytes per second, which takes about 0.5 % of a CPU. */
const MAX_PARSED_BYTES_PER_SEC = 2 ** 21;
const SPACE = ' '.charCodeAt(0);
const OPENING = '['.charCodeAt(0);
const CLOSING = ']'.charCodeAt(0);
/** Names that socket.io-client itself emits. */
const RESERVED = ['connect', 'connect_error', 'disconnect', 'disconnecting', 'newListener', 'removeListener'];

interface KnownPayload {
  bytes: Buffer;
  /** Length of the payload in `bytes`. */
  length: number;
}

export class PayloadCheck {
  readonly #isValid: (payload: unknown) => boolean;
  readonly #known = Array.from({ length: MAX_KNOWN }, (): KnownPayload => ({ bytes: Buffer.alloc(0), length: 0 }));
  #last = 0;
  #second = 0;
  #parsedBytes = 0;

  private constructor(isValid: (payload: unknown) => boolean) {
    this.#isValid = isValid;
  }

  static ofEvents(): PayloadCheck {
    return new PayloadCheck((payload) => Array.isArray(payload) && isName(payload[0]));
  }

  static ofAcknowledgements(): PayloadCheck {
    return new PayloadCheck(Array.isArray);
  }

  /** @param start start of the JSON; a packet without JSON passes, as in socket.io-parser */
  passes(bytes: Buffer, start: number, end: number): boolean {
    if (start >= end || this.#isKnown(bytes, start, end)) return true;
    if (this.#isOverRate(end - start)) return isEnd(bytes[start], OPENING) && isEnd(bytes[end - 1], CLOSING);
    let isValid = false;
    try {
      isValid = this.#isValid(JSON.parse(bytes.toString('utf8', start, end)));
    } catch {
      // Not JSON.
    }
    if (isValid) this.#keep(bytes, start, end);
    return isValid;
  }

  #isOverRate(sizeBytes: number): boolean {
    const second = Math.trunc(performance.now() / 1000);
    if (second !== this.#second) this.#parsedBytes = 0;
    this.#second = second;
    this.#parsedBytes += sizeBytes;
    return this.#parsedBytes > MAX_PARSED_BYTES_PER_SEC;
  }

  #isKnown(bytes: Buffer, start: number, end: number): boolean {
    const length = end - start;
    for (let offset = 0; offset < MAX_KNOWN; offset++) {
      const at = (this.#last + offset) % MAX_KNOWN;
      const known = this.#known[at] as KnownPayload;
      if (known.length !== length || bytes.compare(known.bytes, 0, length, start, end) !== 0) continue;
      this.#last = at;
      return true;
    }
    return false;
  }

  #keep(bytes: Buffer, start: number, end: number): void {
    const length = end - start;
    if (length > MAX_KNOWN_BYTES) return;
    this.#last = (this.#last + 1) % MAX_KNOWN;
    const known = this.#known[this.#last] as KnownPayload;
    if (known.bytes.length < length) known.bytes = Buffer.allocUnsafeSlow(length);
    bytes.copy(known.bytes, 0, start, end);
    known.length = length;
  }
}

function isName(name: unknown): boolean {
  return typeof name === 'number' || (typeof name === 'string' && !RESERVED.includes(name));
}

/** Returns whether the byte is the bracket or whitespace, which JSON allows around it. */
function isEnd(byte: number | undefined, bracket: number): boolean {
  return byte === bracket || (byte !== undefined && byte <= SPACE);
}
