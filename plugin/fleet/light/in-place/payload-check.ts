/**
 * Checks payloads that no decoder reads, as socket.io-parser would: JSON of a list that, for an event, begins with a name. The
 * copies of a broadcast are the same bytes, so that only the first one is parsed, and the others are compared natively. Where
 * each copy has other bytes, parsing all of them would take the CPU of the generator: beyond a rate, only the ends are checked.
 */

/** Broadcasts whose copies arrive in turns. */
const MAX_KNOWN = 4;
/** Larger payloads are parsed each time. */
const MAX_KNOWN_BYTES = 65_536;
/** Takes about 0.5 % of a CPU. */
const MAX_PARSED_BYTES_PER_SEC = 2 ** 21;
const SPACE = ' '.charCodeAt(0);
const OPENING = '['.charCodeAt(0);
const CLOSING = ']'.charCodeAt(0);
/** Names that socket.io-client itself emits. */
const RESERVED = ['connect', 'connect_error', 'disconnect', 'disconnecting', 'newListener', 'removeListener'];

interface Known {
  bytes: Buffer;
  /** Of the payload, at the start of `bytes`. */
  length: number;
}

export class PayloadCheck {
  readonly #isValid: (payload: unknown) => boolean;
  readonly #known = Array.from({ length: MAX_KNOWN }, (): Known => ({ bytes: Buffer.alloc(0), length: 0 }));
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

  /** @param start of the JSON; a packet without any passes, as in socket.io-parser */
  passes(bytes: Buffer, start: number, end: number): boolean {
    if (start >= end || this.#isKnown(bytes, start, end)) return true;
    if (this.#isOverRate(end - start)) return isEnd(bytes[start], OPENING) && isEnd(bytes[end - 1], CLOSING);
    let isValid = false;
    try {
      isValid = this.#isValid(JSON.parse(bytes.toString('utf8', start, end)));
    } catch {
      // It is not JSON.
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
    for (let tried = 0; tried < MAX_KNOWN; tried++) {
      const at = (this.#last + tried) % MAX_KNOWN;
      const one = this.#known[at] as Known;
      if (one.length !== length || bytes.compare(one.bytes, 0, length, start, end) !== 0) continue;
      this.#last = at;
      return true;
    }
    return false;
  }

  #keep(bytes: Buffer, start: number, end: number): void {
    const length = end - start;
    if (length > MAX_KNOWN_BYTES) return;
    this.#last = (this.#last + 1) % MAX_KNOWN;
    const one = this.#known[this.#last] as Known;
    if (one.bytes.length < length) one.bytes = Buffer.allocUnsafeSlow(length);
    bytes.copy(one.bytes, 0, start, end);
    one.length = length;
  }
}

function isName(name: unknown): boolean {
  return typeof name === 'number' || (typeof name === 'string' && !RESERVED.includes(name));
}

/** JSON may have blanks around it. */
function isEnd(byte: number | undefined, bracket: number): boolean {
  return byte === bracket || (byte !== undefined && byte <= SPACE);
}
