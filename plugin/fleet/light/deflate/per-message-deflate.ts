/** Compresses and inflates the messages of one connection, as its server has granted it (RFC 7692). */
import { webSocketError } from '../protocol-error.ts';
import type { DeflateGrant } from './grant.ts';
import { PublicDeflater, PublicInflater } from './public-context.ts';
import { type DeflateContext, hasHandle, ZlibContext } from './zlib-context.ts';

/** Smaller messages are sent as they are: the default of socket.io-client. */
export const THRESHOLD_BYTES = 1024;

/** The end of every compressed message, which does not travel. */
const TAIL = Uint8Array.of(0, 0, 0xff, 0xff);

/** Makes the contexts of both directions, by the bits of their window. */
export interface Contexts {
  inflater(windowBits: number): DeflateContext;
  deflater(windowBits: number): DeflateContext;
  /** For messages that are compressed by themselves, and have nothing to keep. */
  shared: { inflaters: Map<number, DeflateContext>; deflaters: Map<number, DeflateContext> };
}

const ON_HANDLES: Contexts = {
  inflater: ZlibContext.inflater,
  deflater: ZlibContext.deflater,
  shared: { inflaters: new Map(), deflaters: new Map() },
};
export const ON_PUBLIC_API: Contexts = {
  inflater: (windowBits) => new PublicInflater(windowBits),
  deflater: (windowBits) => new PublicDeflater(windowBits),
  shared: { inflaters: new Map(), deflaters: new Map() },
};

export class PerMessageDeflate {
  readonly #grant: DeflateGrant;
  readonly #contexts: Contexts;
  /** From the first compressed message on, if that helps to inflate later ones. */
  #inflater: DeflateContext | undefined = undefined;
  #deflater: DeflateContext | undefined = undefined;

  constructor(grant: DeflateGrant, contexts = hasHandle() ? ON_HANDLES : ON_PUBLIC_API) {
    this.#grant = grant;
    this.#contexts = contexts;
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

  #inflating(): DeflateContext {
    const { serverNoContextTakeover, serverMaxWindowBits: bits } = this.#grant;
    if (serverNoContextTakeover) return sharedContext(this.#contexts.shared.inflaters, bits, this.#contexts.inflater);
    this.#inflater ??= this.#contexts.inflater(bits);
    return this.#inflater;
  }

  #deflating(): DeflateContext {
    const { clientNoContextTakeover, clientMaxWindowBits: bits } = this.#grant;
    if (clientNoContextTakeover) return sharedContext(this.#contexts.shared.deflaters, bits, this.#contexts.deflater);
    this.#deflater ??= this.#contexts.deflater(bits);
    return this.#deflater;
  }
}

function sharedContext(
  contexts: Map<number, DeflateContext>,
  bits: number,
  create: (bits: number) => DeflateContext,
): DeflateContext {
  let context = contexts.get(bits);
  if (context === undefined) {
    context = create(bits);
    contexts.set(bits, context);
  }
  context.reset();
  return context;
}
