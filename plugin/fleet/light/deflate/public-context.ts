/**
 * What a `ZlibContext` does, with nothing but Node's public API, for a version of Node whose handle for zlib has changed:
 * sets up zlib for each message, with the window of the messages before as its dictionary.
 */
import { type BrotliOptions, constants, deflateRawSync, inflateRawSync, type ZlibOptions } from 'node:zlib';
import { messageTooLarge, webSocketError } from '../protocol-error.ts';
import type { DeflateContext } from './zlib-context.ts';

/** How far from its end zlib uses a window. */
const UNUSED_WINDOW_BYTES = 262;
/** The tail that the caller adds, and one byte that may follow an end of the stream. */
const MOST_LEFT_BYTES = 5;

abstract class PublicContext implements DeflateContext {
  protected readonly windowBits: number;
  #input: Uint8Array[] = [];
  #maxBytes = 0;
  #window = Buffer.alloc(0);

  constructor(windowBits: number) {
    this.windowBits = windowBits;
  }

  protected abstract readonly windowBytes: number;
  protected abstract become(input: Buffer, options: ZlibOptions): { output: Buffer; endsStream: boolean };
  /** The part of the message that the other side sees, too. */
  protected abstract seen(input: Buffer, output: Buffer): Buffer;

  begin(): void {
    this.#input = [];
  }

  add(bytes: Uint8Array, start: number, end: number, maxBytes: number): number {
    this.#input.push(bytes.subarray(start, end));
    this.#maxBytes = maxBytes;
    return 0;
  }

  end(): Buffer {
    const input = Buffer.concat(this.#input);
    this.#input = [];
    const { output, endsStream } = this.#become(input);
    this.#window = endsStream
      ? Buffer.alloc(0)
      : Buffer.concat([this.#window, this.seen(input, output)]).subarray(-this.windowBytes);
    return output;
  }

  reset(): void {
    this.#window = Buffer.alloc(0);
  }

  close(): void {
    this.reset();
  }

  #become(input: Buffer): { output: Buffer; endsStream: boolean } {
    const options: ZlibOptions = { windowBits: this.windowBits, finishFlush: constants.Z_SYNC_FLUSH };
    if (this.#window.length > 0) options.dictionary = this.#window;
    if (Number.isFinite(this.#maxBytes)) options.maxOutputLength = Math.max(1, this.#maxBytes);
    try {
      return this.become(input, options);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw messageTooLarge(this.#maxBytes);
      throw webSocketError(`a message that cannot be inflated: ${(error as Error).message}`);
    }
  }
}

export class PublicInflater extends PublicContext {
  protected override readonly windowBytes = 2 ** this.windowBits;

  protected override become(input: Buffer, options: ZlibOptions): { output: Buffer; endsStream: boolean } {
    // With `info`, which Node's types lack, the answer says how much of the input was used.
    const { buffer, engine } = inflateRawSync(input, { ...options, info: true } as BrotliOptions) as unknown as {
      buffer: Buffer;
      engine: { bytesWritten: number };
    };
    const leftBytes = input.length - engine.bytesWritten;
    if (leftBytes > MOST_LEFT_BYTES) throw new Error('bytes behind the end of the stream');
    return { output: buffer, endsStream: leftBytes > 0 };
  }

  protected override seen(_input: Buffer, output: Buffer): Buffer {
    return output;
  }
}

export class PublicDeflater extends PublicContext {
  protected override readonly windowBytes = 2 ** Math.max(9, this.windowBits) - UNUSED_WINDOW_BYTES;

  protected override become(input: Buffer, options: ZlibOptions): { output: Buffer; endsStream: boolean } {
    return { output: deflateRawSync(input, options), endsStream: false };
  }

  protected override seen(input: Buffer): Buffer {
    return input;
  }
}
