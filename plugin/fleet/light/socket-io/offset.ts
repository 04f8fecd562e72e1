/**
 * Reads the offset that a server with connection state recovery appends to every event: its last argument, if that is a string. Runs for
 * every message of a recoverable connection; all copies of a broadcast share one string.
 */
import { isSame, skipHead } from './packet-head.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
/** Longer strings are parsed; servers append short ones. */
const SHORT_BYTES = 64;

/** Shared by all connections of a process. */
export class OffsetReader {
  #lastBytes: Buffer = Buffer.alloc(0);
  #last = '';

  /** @param start start of the packet's namespace or JSON @returns undefined if the last argument is not a string */
  read(bytes: Buffer, start: number, end: number): string | undefined {
    if (bytes[end - 1] !== CLOSE_BRACKET) return lastOf(bytes, start, end);
    const open = lastStringStart(bytes, start, end);
    if (open === NOT_SHORT) return lastOf(bytes, start, end);
    if (open === NO_STRING) return undefined;
    if (!isSame(bytes, open + 1, end - 2, this.#lastBytes)) {
      this.#lastBytes = Buffer.from(bytes.subarray(open + 1, end - 2));
      this.#last = this.#lastBytes.toString();
    }
    return this.#last;
  }
}

const NO_STRING = -1;
const NOT_SHORT = -2;

/**
 * Returns the start of the string before the closing bracket; NO_STRING, or NOT_SHORT if it is long or has escapes.
 * @param end end of the packet, after its closing bracket
 */
function lastStringStart(bytes: Uint8Array, start: number, end: number): number {
  const close = end - 2;
  const before = bytes[close] as number;
  if (before !== QUOTE) return before <= 0x20 ? NOT_SHORT : NO_STRING;
  const from = Math.max(start, close - SHORT_BYTES);
  for (let at = close - 1; at >= from; at--) {
    if (bytes[at] === BACKSLASH) return NOT_SHORT;
    if (bytes[at] === QUOTE) return bytes[at - 1] === BACKSLASH ? NOT_SHORT : at;
  }
  return NOT_SHORT;
}

function lastOf(bytes: Buffer, start: number, end: number): string | undefined {
  try {
    const last = JSON.parse(bytes.toString('utf8', skipHead(bytes, start, end), end)).at(-1);
    return typeof last === 'string' ? last : undefined;
  } catch {
    return undefined; // not valid JSON; counted and acknowledged without decoding, like any event without a waiting step
  }
}
