/**
 * permessage-deflate (RFC 7692): the offer, the server's answer to it, and the messages of one connection as it was granted.
 * Node's synchronous zlib keeps nothing from one message to the next: each gets the window of the messages before as its
 * dictionary.
 */
import { type BrotliOptions, constants, deflateRawSync, inflateRawSync, type ZlibOptions } from 'node:zlib';
import { messageTooLarge, webSocketError } from '../protocol-error.ts';

const EXTENSION = 'permessage-deflate';
/** The same offer as that of `ws`, and thus of socket.io-client. */
export const DEFLATE_OFFER = `${EXTENSION}; client_max_window_bits`;

/** In bits, the distance of the farthest repetition. */
const MAX_WINDOW_BITS = 15;
const WINDOW_BITS = /^(?:[89]|1[0-5])$/;

export interface DeflateGrant {
  /** Each message of the server is compressed by itself. */
  serverNoContextTakeover: boolean;
  /** Each message of the client is to be. */
  clientNoContextTakeover: boolean;
  serverMaxWindowBits: number;
  clientMaxWindowBits: number;
}

/**
 * @param header `Sec-WebSocket-Extensions` of the answer
 * @throws ProtocolError for anything but an answer to `DEFLATE_OFFER`
 */
export function readGrant(header: string): DeflateGrant {
  const [extension, ...parameters] = header.split(';').map((part) => part.trim());
  if (extension !== EXTENSION) throw webSocketError(`an extension that was not asked for: ${extension}`);
  const given = new Map<string, string | undefined>();
  for (const parameter of parameters) {
    const [name = '', ...values] = parameter.split('=').map((part) => part.trim());
    const value = values.length === 0 ? undefined : values.join('=').replace(/^"(.*)"$/, '$1');
    if (given.has(name) || !isValid(name, value)) throw webSocketError(`${EXTENSION} with ${parameter}`);
    given.set(name, value);
  }
  return {
    serverNoContextTakeover: given.has('server_no_context_takeover'),
    clientNoContextTakeover: given.has('client_no_context_takeover'),
    serverMaxWindowBits: Number(given.get('server_max_window_bits') ?? MAX_WINDOW_BITS),
    clientMaxWindowBits: Number(given.get('client_max_window_bits') ?? MAX_WINDOW_BITS),
  };
}

function isValid(name: string, value: string | undefined): boolean {
  if (name === 'server_no_context_takeover' || name === 'client_no_context_takeover') return value === undefined;
  const hasBits = name === 'server_max_window_bits' || name === 'client_max_window_bits';
  return hasBits && value !== undefined && WINDOW_BITS.test(value);
}

/** Smaller messages are sent as they are: the default of socket.io-client. */
export const THRESHOLD_BYTES = 1024;

/** The end of every compressed message, which does not travel. */
const TAIL = Uint8Array.of(0, 0, 0xff, 0xff);
/** A server may end the compressed stream with a message; then the tail is left, and one byte at most. */
const MOST_LEFT_BYTES = TAIL.length + 1;
/** How far from its end zlib uses a window. */
const UNUSED_WINDOW_BYTES = 262;
/** zlib makes a window of 256 bytes one of 512. */
const MIN_WINDOW_BITS = 9;
const NOTHING: Buffer = Buffer.alloc(0);

export class PerMessageDeflate {
  readonly #grant: DeflateGrant;
  /** The last bytes that the server has sent, and those that were sent to it, as far as later messages may repeat them. */
  #received = NOTHING;
  #sent = NOTHING;

  constructor(grant: DeflateGrant) {
    this.#grant = grant;
  }

  /**
   * @param maxBytes of the message
   * @returns the message of which the payload is `bytes[start, end)`
   * @throws ProtocolError; it is of no use afterwards
   */
  inflate(bytes: Uint8Array, start: number, end: number, maxBytes: number): Buffer {
    // Not even an empty message has an empty payload; zlib would take the tail for something else.
    if (start === end) throw webSocketError('a compressed message without a payload');
    const { serverNoContextTakeover, serverMaxWindowBits } = this.#grant;
    const payload = Buffer.concat([bytes.subarray(start, end), TAIL]);
    const { message, leftBytes } = inflated(payload, maxBytes, optionsFor(serverMaxWindowBits, this.#received));
    if (leftBytes > MOST_LEFT_BYTES) throw webSocketError('bytes behind the end of a compressed message');
    if (leftBytes > 0) this.#received = NOTHING;
    else if (!serverNoContextTakeover) this.#received = lastOf(this.#received, message, 2 ** serverMaxWindowBits);
    return message;
  }

  /** @returns the payload that carries the message */
  deflate(message: Uint8Array): Buffer {
    const { clientNoContextTakeover, clientMaxWindowBits } = this.#grant;
    const payload = deflateRawSync(message, optionsFor(clientMaxWindowBits, this.#sent));
    const windowBytes = 2 ** Math.max(MIN_WINDOW_BITS, clientMaxWindowBits) - UNUSED_WINDOW_BYTES;
    if (!clientNoContextTakeover) this.#sent = lastOf(this.#sent, message, windowBytes);
    return payload.subarray(0, -TAIL.length);
  }
}

function optionsFor(windowBits: number, window: Buffer): ZlibOptions {
  const options = { windowBits, finishFlush: constants.Z_SYNC_FLUSH };
  return window.length === 0 ? options : { ...options, dictionary: window };
}

function inflated(payload: Buffer, maxBytes: number, options: ZlibOptions): { message: Buffer; leftBytes: number } {
  try {
    // With `info`, which Node's types lack, the answer says how much of the input was used.
    const told = { ...options, maxOutputLength: Math.max(1, maxBytes), info: true } as BrotliOptions;
    const { buffer, engine } = inflateRawSync(payload, told) as unknown as {
      buffer: Buffer;
      engine: { bytesWritten: number };
    };
    return { message: buffer, leftBytes: payload.length - engine.bytesWritten };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ERR_BUFFER_TOO_LARGE') throw messageTooLarge(maxBytes);
    throw webSocketError(`a message that cannot be inflated: ${message}`);
  }
}

/** A copy: a part of the message would keep all of it, for each connection. */
function lastOf(before: Buffer, message: Uint8Array, sizeBytes: number): Buffer {
  const last = message.subarray(-sizeBytes);
  const kept = last.length === sizeBytes ? NOTHING : before.subarray(-(sizeBytes - last.length));
  return Buffer.concat([kept, last]);
}
