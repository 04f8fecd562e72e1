/** Compresses and inflates the messages of one connection, as its server has granted it (RFC 7692). */
import { webSocketError } from '../protocol-error.ts';
import type { DeflateGrant } from './grant.ts';
import { ZlibContext } from './zlib-context.ts';

/** Smaller messages are sent as they are: the default of socket.io-client. */
export const THRESHOLD_BYTES = 1024;

/** The end of every compressed message, which does not travel. */
const TAIL = Uint8Array.of(0, 0, 0xff, 0xff);

/** For messages that are compressed by themselves, and have nothing to keep: by the bits of their window. */
const inflaters = new Map<number, ZlibContext>();
const deflaters = new Map<number, ZlibContext>();

export class PerMessageDeflate {
  readonly #grant: DeflateGrant;
  /** From the first compressed message on, if that helps to inflate later ones. */
  #inflater: ZlibContext | undefined = undefined;
  #deflater: ZlibContext | undefined = undefined;

  constructor(grant: DeflateGrant) {
    this.#grant = grant;
  }

  /**
   * @param maxBytes of the message
   * @returns the message of which the payload is `bytes[start, end)`, valid until the next one is inflated or compressed
   * @throws ProtocolError; only `close` may be called afterwards
   */
  inflate(bytes: Uint8Array, start: number, end: number, maxBytes: number): Buffer {
    const context = this.#inflating();
    context.begin();
    // Not even an empty message has an empty payload; zlib would take the tail for something else.
    if (start === end) throw webSocketError('a compressed message without a payload');
    const leftBytes = context.add(bytes, start, end, maxBytes);
    // A server may end the compressed stream with the message; then one byte at most follows, and no context is left.
    if (leftBytes > 1) throw webSocketError('bytes behind the end of a compressed message');
    if (leftBytes === 1 || context.add(TAIL, 0, TAIL.length, maxBytes) > 0) context.reset();
    return context.end();
  }

  /** @returns the payload that carries the message, valid until the next one is inflated or compressed */
  deflate(message: Uint8Array): Buffer {
    const context = this.#deflating();
    context.begin();
    context.add(message, 0, message.length, Number.POSITIVE_INFINITY);
    return context.end().subarray(0, -TAIL.length);
  }

  /** Idempotent. */
  close(): void {
    this.#inflater?.close();
    this.#deflater?.close();
    this.#inflater = undefined;
    this.#deflater = undefined;
  }

  #inflating(): ZlibContext {
    const { serverNoContextTakeover, serverMaxWindowBits: bits } = this.#grant;
    if (serverNoContextTakeover) return sharedContext(inflaters, bits, ZlibContext.inflater);
    this.#inflater ??= ZlibContext.inflater(bits);
    return this.#inflater;
  }

  #deflating(): ZlibContext {
    const { clientNoContextTakeover, clientMaxWindowBits: bits } = this.#grant;
    if (clientNoContextTakeover) return sharedContext(deflaters, bits, ZlibContext.deflater);
    this.#deflater ??= ZlibContext.deflater(bits);
    return this.#deflater;
  }
}

function sharedContext(contexts: Map<number, ZlibContext>, bits: number, create: (bits: number) => ZlibContext) {
  let context = contexts.get(bits);
  if (context === undefined) {
    context = create(bits);
    contexts.set(bits, context);
  }
  context.reset();
  return context;
}
