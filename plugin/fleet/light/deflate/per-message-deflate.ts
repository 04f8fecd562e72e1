/**
 * permessage-deflate (RFC 7692): compression of a connection's WebSocket messages. Node's synchronous zlib keeps no
 * state between calls, so each call gets the window of the previous messages as its dictionary.
 */
import { type BrotliOptions, constants, deflateRawSync, inflateRawSync, type ZlibOptions } from 'node:zlib';
import { messageTooLarge, webSocketError } from '../protocol-error.ts';

const EXTENSION = 'permessage-deflate';
/**
 * Compression extension that the client offers to the server. The package `ws`, which socket.io-client uses, offers the
 * same.
 */
export const DEFLATE_OFFER = `${EXTENSION}; client_max_window_bits`;

/** Largest size of the compression window, in bits. */
const MAX_WINDOW_BITS = 15;
const WINDOW_BITS = /^(?:[89]|1[0-5])$/;

export interface DeflateGrant {
  /** Whether the server compresses each message independently. */
  serverNoContextTakeover: boolean;
  /** Whether the client must compress each message independently. */
  clientNoContextTakeover: boolean;
  serverMaxWindowBits: number;
  clientMaxWindowBits: number;
}

/**
 * Reads the server's answer to the compression offer.
 * @param header `Sec-WebSocket-Extensions` of the response
 * @throws ProtocolError if the header is not a valid answer to `DEFLATE_OFFER`
 */
export function readDeflateGrant(header: string): DeflateGrant {
  const [extension, ...parameters] = header.split(';').map((part) => part.trim());
  if (extension !== EXTENSION) throw webSocketError(`an extension that was not requested: ${extension}`);
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

/** Smallest message in bytes that is compressed; the default of socket.io-client. */
export const COMPRESSION_THRESHOLD_BYTES = 1024;

/** Bytes at the end of every compressed message, which are not transmitted. */
const TAIL = Uint8Array.of(0, 0, 0xff, 0xff);
/**
 * Largest number of input bytes that zlib may leave unread: a message can end the deflate stream, which leaves the tail
 * and at most one more byte.
 */
const MAX_UNREAD_BYTES = TAIL.length + 1;
/** Number of bytes of the compression window that zlib does not use. */
const UNUSED_WINDOW_BYTES = 262;
/** Smallest window size in bits: zlib enlarges a window of 256 bytes to 512. */
const MIN_WINDOW_BITS = 9;
const EMPTY: Buffer = Buffer.alloc(0);

export class PerMessageDeflate {
  readonly #grant: DeflateGrant;
  /**
   * Last received bytes, the compression window to which later compressed messages can refer. `#sent` has the last sent
   * bytes.
   */
  #received = EMPTY;
  #sent = EMPTY;

  constructor(grant: DeflateGrant) {
    this.#grant = grant;
  }

  /**
   * Decompresses a message.
   * @param maxBytes largest allowed message
   * @returns the decompressed payload of `bytes[start, end)`
   * @throws ProtocolError; the object must not be used afterwards
   */
  inflate(bytes: Uint8Array, start: number, end: number, maxBytes: number): Buffer {
    // A compressed message is never empty. zlib would misread the appended tail after an empty payload.
    if (start === end) throw webSocketError('a compressed message without a payload');
    const { serverNoContextTakeover, serverMaxWindowBits } = this.#grant;
    const payload = Buffer.concat([bytes.subarray(start, end), TAIL]);
    const { message, unreadBytes } = inflated(payload, maxBytes, optionsFor(serverMaxWindowBits, this.#received));
    if (unreadBytes > MAX_UNREAD_BYTES) throw webSocketError('bytes after the end of a compressed message');
    if (unreadBytes > 0) this.#received = EMPTY;
    else if (!serverNoContextTakeover) this.#received = lastBytes(this.#received, message, 2 ** serverMaxWindowBits);
    return message;
  }

  deflate(message: Uint8Array): Buffer {
    const { clientNoContextTakeover, clientMaxWindowBits } = this.#grant;
    const payload = deflateRawSync(message, optionsFor(clientMaxWindowBits, this.#sent));
    const windowBytes = 2 ** Math.max(MIN_WINDOW_BITS, clientMaxWindowBits) - UNUSED_WINDOW_BYTES;
    if (!clientNoContextTakeover) this.#sent = lastBytes(this.#sent, message, windowBytes);
    return payload.subarray(0, -TAIL.length);
  }
}

function optionsFor(windowBits: number, window: Buffer): ZlibOptions {
  const options = { windowBits, finishFlush: constants.Z_SYNC_FLUSH };
  return window.length === 0 ? options : { ...options, dictionary: window };
}

function inflated(payload: Buffer, maxBytes: number, options: ZlibOptions): { message: Buffer; unreadBytes: number } {
  try {
    // The undocumented option `info` makes zlib report how much of the input it has read.
    const inflateOptions = { ...options, maxOutputLength: Math.max(1, maxBytes), info: true } as BrotliOptions;
    const { buffer, engine } = inflateRawSync(payload, inflateOptions) as unknown as {
      buffer: Buffer;
      engine: { bytesWritten: number };
    };
    return { message: buffer, unreadBytes: payload.length - engine.bytesWritten };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ERR_BUFFER_TOO_LARGE') throw messageTooLarge(maxBytes);
    throw webSocketError(`a message that cannot be inflated: ${message}`);
  }
}

/**
 * Returns a copy of the last bytes of all messages, as compression window. A subarray would keep the whole message in
 * memory for each connection.
 */
function lastBytes(previous: Buffer, message: Uint8Array, sizeBytes: number): Buffer {
  const last = message.subarray(-sizeBytes);
  const kept = last.length === sizeBytes ? EMPTY : previous.subarray(-(sizeBytes - last.length));
  return Buffer.concat([kept, last]);
}
