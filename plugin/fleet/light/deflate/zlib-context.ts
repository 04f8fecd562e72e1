/**
 * A zlib stream that works on the calling thread, message after message. Node's own streams work on a thread of its pool, and
 * its synchronous functions keep nothing for the next message: `inflateRawSync` takes four times as long as this, and seven
 * times if it gets the window of the messages before as a dictionary.
 */
import { constants, createDeflateRaw, createInflateRaw } from 'node:zlib';
import { messageTooLarge, webSocketError } from '../protocol-error.ts';

/** Node's handle for zlib, which is not public API: what this client uses of it. */
interface Handle {
  writeSync(
    flush: number,
    input: Uint8Array,
    inputAt: number,
    inputBytes: number,
    output: Uint8Array,
    outputAt: number,
    outputBytes: number,
  ): void;
  reset(): void;
  onerror(message: string): void;
}

interface Stream {
  close(): void;
  _handle: Handle;
  /** Of the last write: bytes that the output had room left for, and bytes that were left of the input. */
  _writeState: [roomBytes: number, leftBytes: number];
}

/** Of the stream, which works with a buffer of ours: the least that Node allows. */
const UNUSED_CHUNK_BYTES = 64;
const OUTPUT_BYTES = 64 * 1024;

/** Whether this version of Node has the handle, and it does what this client needs; loaded once. */
let isUsable: boolean | undefined;

export function hasHandle(): boolean {
  isUsable ??= works();
  return isUsable;
}

/** One byte there and back. */
function works(): boolean {
  try {
    const deflater = ZlibContext.deflater(15);
    const inflater = ZlibContext.inflater(15);
    try {
      deflater.begin();
      deflater.add(Uint8Array.of(7), 0, 1, 100);
      const compressed = Uint8Array.from(deflater.end());
      deflater.reset();
      inflater.begin();
      inflater.add(compressed, 0, compressed.length, 100);
      return inflater.end().equals(Uint8Array.of(7));
    } finally {
      deflater.close();
      inflater.close();
    }
  } catch {
    return false;
  }
}

/** One message's output, for all contexts of the process: only one of them works at a time. */
let output = Buffer.allocUnsafeSlow(OUTPUT_BYTES);
let outputLength = 0;

/** Of one direction. */
export interface DeflateContext {
  /** Begins the output of another message. */
  begin(): void;
  /**
   * Adds to the output what `bytes[start, end)` becomes, up to its last byte. The bytes stay unchanged until `end`.
   * @param maxBytes of the output
   * @returns bytes that are left of the input: the compressed stream has ended before
   * @throws ProtocolError for input that is not compressed, or too much output
   */
  add(bytes: Uint8Array, start: number, end: number, maxBytes: number): number;
  /** @returns the message's output, valid until another one begins @throws ProtocolError as `add` */
  end(): Buffer;
  /** Forgets the messages before. */
  reset(): void;
  close(): void;
}

export class ZlibContext implements DeflateContext {
  readonly #stream: Stream;
  #failure: string | undefined = undefined;

  private constructor(stream: unknown) {
    this.#stream = stream as Stream;
    this.#stream._handle.onerror = (message) => {
      this.#failure = message;
    };
  }

  static inflater(windowBits: number): ZlibContext {
    return new ZlibContext(createInflateRaw({ chunkSize: UNUSED_CHUNK_BYTES, windowBits }));
  }

  /** The same settings as those of `ws`. */
  static deflater(windowBits: number): ZlibContext {
    return new ZlibContext(createDeflateRaw({ chunkSize: UNUSED_CHUNK_BYTES, windowBits }));
  }

  begin(): void {
    if (output.length > OUTPUT_BYTES) output = Buffer.allocUnsafeSlow(OUTPUT_BYTES);
    outputLength = 0;
  }

  add(bytes: Uint8Array, start: number, end: number, maxBytes: number): number {
    const { _handle: handle, _writeState: state } = this.#stream;
    let at = start;
    for (;;) {
      const roomBytes = output.length - outputLength;
      handle.writeSync(constants.Z_SYNC_FLUSH, bytes, at, end - at, output, outputLength, roomBytes);
      if (this.#failure !== undefined) throw this.#unreadable();
      const [leftRoomBytes, leftBytes] = state;
      outputLength += roomBytes - leftRoomBytes;
      at = end - leftBytes;
      if (outputLength > maxBytes) throw messageTooLarge(maxBytes);
      if (leftRoomBytes > 0) return leftBytes;
      grow(maxBytes);
    }
  }

  end(): Buffer {
    return output.subarray(0, outputLength);
  }

  reset(): void {
    this.#stream._handle.reset();
  }

  /** Releases zlib's memory, which the garbage collector does not hurry to do. */
  close(): void {
    this.#stream.close();
  }

  #unreadable(): Error {
    const error = webSocketError(`a message that cannot be inflated: ${this.#failure}`);
    this.#failure = undefined;
    return error;
  }
}

/** One byte more than a message may have shows that it has too many. */
function grow(maxBytes: number): void {
  const larger = Buffer.allocUnsafeSlow(Math.min(output.length * 2, Math.max(maxBytes, OUTPUT_BYTES) + 1));
  larger.set(output);
  output = larger;
}
