/** WebSocket frames (RFC 6455): from the server in place, to the server masked. */
import type { BufferBudget } from '../buffer-budget.ts';
import { ByteQueue } from '../byte-queue.ts';
import { type PerMessageDeflate, THRESHOLD_BYTES } from '../deflate/per-message-deflate.ts';
import { messageTooLarge, webSocketError } from '../protocol-error.ts';

export const OPCODE = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

/** RSV1 of a frame's first byte: its message is compressed. The other reserved bits belong to no extension. */
const COMPRESSED = 0x40;
const RESERVED = 0x70;

/** The most memory to allocate for a frame before its bytes arrive: until then its length is only a claim. */
const MAX_TRUSTED_BYTES = 1024 * 1024;

export interface FrameHandler {
  /**
   * A whole text or binary message (its fragments joined, and inflated), or a control frame. `bytes[start, end)` is the payload and
   * valid only during the call.
   * @returns false to stop reading
   */
  onFrame(opcode: number, bytes: Buffer, start: number, end: number): boolean;
}

/** One connection's place in its byte stream. Holds no bytes between two frames. */
export class FrameDecoder {
  /** The beginning of a frame whose end has not arrived. */
  #partial: ByteQueue | undefined = undefined;
  /** The fragments so far of a message that is not finished. */
  #message: ByteQueue | undefined = undefined;
  /** With RSV1. */
  #messageOpcode = 0;
  /** If the server has granted compression. */
  deflate: PerMessageDeflate | undefined = undefined;
  readonly #budget: BufferBudget;

  /** @param budget for what waits for its end */
  constructor(budget: BufferBudget) {
    this.#budget = budget;
  }

  /**
   * Reads `bytes[start, end)`, which may begin and end anywhere in a frame.
   * @param maxBytes of a message
   * @throws ProtocolError if the server breaks RFC 6455 or 7692, sends a larger message, or the budget is used up; only `discard`
   *   may be called afterwards
   */
  decode(bytes: Buffer, start: number, end: number, handler: FrameHandler, maxBytes: number): void {
    let at = start;
    if (this.#partial !== undefined) {
      at = this.#complete(this.#partial, bytes, at, end, handler, maxBytes);
      if (at < 0) return;
    }
    while (at < end) {
      const size = frameSize(bytes, at, end, maxBytes, this.deflate !== undefined);
      if (size === 0 || size > end - at) {
        this.#partial = new ByteQueue(Math.max(14, Math.min(size, MAX_TRUSTED_BYTES)), this.#budget);
        this.#partial.append(bytes, at, end);
        return;
      }
      if (!this.#frame(bytes, at, at + size, handler, maxBytes)) return;
      at += size;
    }
  }

  /** Adds to the unfinished frame: its header byte by byte, then all of its payload. @returns where to go on, or -1 */
  #complete(
    partial: ByteQueue,
    bytes: Buffer,
    start: number,
    end: number,
    handler: FrameHandler,
    maxBytes: number,
  ): number {
    let at = start;
    for (;;) {
      const size = frameSize(partial.bytes, 0, partial.length, maxBytes, this.deflate !== undefined);
      if (size === partial.length) break;
      const wanted = size === 0 ? 1 : size - partial.length;
      const taken = Math.min(wanted, end - at);
      if (taken === 0) return -1;
      partial.append(bytes, at, at + taken);
      at += taken;
    }
    this.#partial = undefined;
    partial.release();
    return this.#frame(partial.bytes, 0, partial.length, handler, maxBytes) ? at : -1;
  }

  /** One whole frame, header included. */
  #frame(bytes: Buffer, start: number, end: number, handler: FrameHandler, maxBytes: number): boolean {
    const first = byteAt(bytes, start);
    const payloadStart = start + headerSize(byteAt(bytes, start + 1));
    const opcode = first & 0x0f;
    if (opcode >= OPCODE.close) return handler.onFrame(opcode, bytes, payloadStart, end);

    const isFinal = (first & 0x80) !== 0;
    const message = this.#message;
    if (opcode === OPCODE.continuation) {
      if (message === undefined) throw webSocketError('a continuation frame without a message to continue');
      const size = message.length + end - payloadStart;
      if (size > maxBytes) throw messageTooLarge(maxBytes, size);
      message.append(bytes, payloadStart, end);
      if (!isFinal) return true;
      this.#message = undefined;
      message.release();
      return this.#deliver(this.#messageOpcode, message.bytes, 0, message.length, handler, maxBytes);
    }
    if (message !== undefined) throw webSocketError('a new message inside a fragmented one');
    if (isFinal && (first & COMPRESSED) === 0) return handler.onFrame(opcode, bytes, payloadStart, end);
    if (isFinal) return this.#deliver(first & (COMPRESSED | 0x0f), bytes, payloadStart, end, handler, maxBytes);
    this.#messageOpcode = first & (COMPRESSED | 0x0f);
    this.#message = new ByteQueue(end - payloadStart, this.#budget);
    this.#message.append(bytes, payloadStart, end);
    return true;
  }

  /** @param opcode with RSV1 */
  #deliver(
    opcode: number,
    bytes: Buffer,
    start: number,
    end: number,
    handler: FrameHandler,
    maxBytes: number,
  ): boolean {
    if (opcode < COMPRESSED) return handler.onFrame(opcode, bytes, start, end);
    const inflated = (this.deflate as PerMessageDeflate).inflate(bytes, start, end, maxBytes);
    return handler.onFrame(opcode & 0x0f, inflated, 0, inflated.length);
  }

  /** Nothing more is read: forgets what waited for its end, and earlier messages. Idempotent. */
  discard(): void {
    this.#partial?.release();
    this.#message?.release();
    this.#partial = undefined;
    this.#message = undefined;
    this.deflate = undefined;
  }
}

/**
 * Checks the part of a frame's header that has arrived.
 * @returns bytes of the whole frame, header included; 0 while the header is incomplete
 */
function frameSize(bytes: Uint8Array, start: number, end: number, maxBytes: number, mayCompress: boolean): number {
  const available = end - start;
  if (available < 2) return 0;
  const first = byteAt(bytes, start);
  const second = byteAt(bytes, start + 1);
  const opcode = first & 0x0f;
  if ((first & RESERVED) !== 0) checkReserved(first, mayCompress);
  if ((second & 0x80) !== 0) throw webSocketError('a masked frame from the server');
  if (opcode > OPCODE.pong || (opcode > OPCODE.binary && opcode < OPCODE.close)) {
    throw webSocketError(`unknown opcode ${opcode}`);
  }
  if (opcode >= OPCODE.close && ((first & 0x80) === 0 || second > 125)) {
    throw webSocketError('a control frame that is fragmented or longer than 125 bytes');
  }
  const payloadStart = headerSize(second);
  if (available < payloadStart) return 0;
  let size = second;
  if (second >= 126) {
    size = 0;
    for (let at = start + 2; at < start + payloadStart; at++) size = size * 256 + byteAt(bytes, at);
  }
  if (size > maxBytes && opcode < OPCODE.close) throw messageTooLarge(maxBytes, size);
  return payloadStart + size;
}

function headerSize(second: number): number {
  if (second < 126) return 2;
  return second === 126 ? 4 : 10;
}

function checkReserved(first: number, mayCompress: boolean): void {
  if (!mayCompress || (first & RESERVED) !== COMPRESSED) {
    throw webSocketError('reserved bits are set, but no extension was agreed on');
  }
  const opcode = first & 0x0f;
  if (opcode !== OPCODE.text && opcode !== OPCODE.binary) {
    throw webSocketError('RSV1 is set on a frame that begins no message');
  }
}

function sizeOf(payload: string | Uint8Array): number {
  return typeof payload === 'string' ? Buffer.byteLength(payload) : payload.length;
}

/** For indices known to be in range. */
function byteAt(bytes: Uint8Array, index: number): number {
  return bytes[index] as number;
}

/**
 * A masked frame with the mask key 0, which leaves the payload as it is. Unpredictable keys protect proxies from a
 * hostile script inside a browser; here the sender chooses its own bytes. The server unmasks just the same.
 */
export function encodeFrame(opcode: number, payload: string | Uint8Array): Buffer {
  const size = sizeOf(payload);
  const lengthBytes = size < 126 ? 0 : size < 65_536 ? 2 : 8;
  const payloadStart = 2 + lengthBytes + 4;
  const frame = Buffer.allocUnsafe(payloadStart + size);
  frame[0] = 0x80 | opcode;
  frame[1] = 0x80 | (lengthBytes === 0 ? size : lengthBytes === 2 ? 126 : 127);
  if (lengthBytes === 2) frame.writeUInt16BE(size, 2);
  if (lengthBytes === 8) frame.writeBigUInt64BE(BigInt(size), 2);
  frame.fill(0, payloadStart - 4, payloadStart);
  if (typeof payload === 'string') frame.write(payload, payloadStart);
  else frame.set(payload, payloadStart);
  return frame;
}

/** Longest header of a masked frame. */
const MAX_HEADER_BYTES = 14;

/**
 * @param frames whole ones, as `encodeFrame` makes them @param known a size that is of no interest, nor any smaller one
 * @returns bytes of the largest payload
 */
export function largestPayload(frames: Uint8Array, known: number): number {
  if (frames.length - MAX_HEADER_BYTES < known) return known;
  let largest = 0;
  for (let at = 0; at < frames.length; ) {
    const second = byteAt(frames, at + 1) & 0x7f;
    let size = second;
    if (second >= 126) {
      size = 0;
      for (let digit = at + 2; digit < at + headerSize(second); digit++) size = size * 256 + byteAt(frames, digit);
    }
    largest = Math.max(largest, size);
    at += headerSize(second) + 4 + size;
  }
  return largest;
}

/** @param deflate if the server has granted compression: messages above the threshold are then compressed */
export function encodeMessage(
  opcode: number,
  message: string | Uint8Array,
  deflate: PerMessageDeflate | undefined,
): Buffer {
  if (deflate === undefined || sizeOf(message) < THRESHOLD_BYTES) return encodeFrame(opcode, message);
  const bytes = typeof message === 'string' ? Buffer.from(message) : message;
  return encodeFrame(COMPRESSED | opcode, deflate.deflate(bytes));
}

/** @param code undefined sends none, as socket.io-client does */
export function encodeClose(code?: number): Buffer {
  return encodeFrame(OPCODE.close, code === undefined ? '' : Uint8Array.of(code >> 8, code & 0xff));
}

/** @returns the close code, 1005 when there is none */
export function closeCode(bytes: Uint8Array, start: number, end: number): number {
  if (end - start === 0) return 1005;
  if (end - start === 1) throw webSocketError('a close frame with half a code');
  const code = byteAt(bytes, start) * 256 + byteAt(bytes, start + 1);
  const isValid = (code >= 1000 && code <= 1014 && code !== 1004 && code !== 1005 && code !== 1006) || code >= 3000;
  if (!isValid || code > 4999) throw webSocketError(`invalid close code ${code}`);
  return code;
}
