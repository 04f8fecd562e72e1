/** WebSocket frames (RFC 6455): decodes the server's frames in place, and encodes masked frames. */
import type { BufferBudget } from '../buffer-budget.ts';
import { ByteQueue } from '../byte-queue.ts';
import { COMPRESSION_THRESHOLD_BYTES, type PerMessageDeflate } from '../deflate/per-message-deflate.ts';
import { messageTooLarge, webSocketError } from '../protocol-error.ts';

export const WEBSOCKET_OPCODE = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

/** Bit RSV1 in a frame's first byte: the message is compressed. The other reserved bits are unused. */
const COMPRESSED = 0x40;
const RESERVED = 0x70;

/**
 * Largest number of bytes that are allocated for a frame before it has arrived, because the announced length may be
 * wrong.
 */
const MAX_TRUSTED_BYTES = 1024 * 1024;

export interface FrameHandler {
  /**
   * Called for a control frame, or for a complete text or binary message, decompressed if needed. The payload
   * `bytes[start, end)` is valid only during the call.
   * @returns false to stop reading
   */
  onFrame(opcode: number, bytes: Buffer, start: number, end: number): boolean;
}

/** Decodes the WebSocket frames of a connection. Buffers bytes only while a frame or a message is incomplete. */
export class FrameDecoder {
  /** Received bytes of an incomplete frame. */
  #partial: ByteQueue | undefined = undefined;
  /** Received fragments of an incomplete message. */
  #message: ByteQueue | undefined = undefined;
  /** Opcode of the incomplete message, with bit RSV1 if it is compressed. */
  #messageOpcode = 0;
  /** Compression of the connection; undefined if the server has not granted it. */
  deflate: PerMessageDeflate | undefined = undefined;
  readonly #budget: BufferBudget;

  /**
   * Creates a decoder.
   * @param budget limit of buffered bytes
   */
  constructor(budget: BufferBudget) {
    this.#budget = budget;
  }

  /**
   * Decodes `bytes[start, end)`, which can begin and end anywhere in a frame.
   * @param maxBytes largest allowed message
   * @throws ProtocolError if the server violates RFC 6455 or 7692, sends a larger message, or exceeds the budget; then
   * only `discard` may be called
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

  /**
   * Adds bytes to the incomplete frame: its header byte by byte, then its payload.
   * @returns the position at which to continue; -1 to stop
   */
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

  /** Handles a complete frame, including its header. */
  #frame(bytes: Buffer, start: number, end: number, handler: FrameHandler, maxBytes: number): boolean {
    const first = byteAt(bytes, start);
    const payloadStart = start + headerSize(byteAt(bytes, start + 1));
    const opcode = first & 0x0f;
    if (opcode >= WEBSOCKET_OPCODE.close) return handler.onFrame(opcode, bytes, payloadStart, end);

    const isFinal = (first & 0x80) !== 0;
    const message = this.#message;
    if (opcode === WEBSOCKET_OPCODE.continuation) {
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

  /**
   * Passes a complete message to the handler.
   * @param opcode opcode of the message, with bit RSV1 if it is compressed
   */
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

  /** Stops reading, and releases incomplete data and the compression window. Idempotent. */
  discard(): void {
    this.#partial?.release();
    this.#message?.release();
    this.#partial = undefined;
    this.#message = undefined;
    this.deflate = undefined;
  }
}

/**
 * Checks the received part of a frame's header.
 * @returns size of the frame with its header; 0 while the header is incomplete
 */
function frameSize(bytes: Uint8Array, start: number, end: number, maxBytes: number, mayCompress: boolean): number {
  const available = end - start;
  if (available < 2) return 0;
  const first = byteAt(bytes, start);
  const second = byteAt(bytes, start + 1);
  const opcode = first & 0x0f;
  if ((first & RESERVED) !== 0) checkReserved(first, mayCompress);
  if ((second & 0x80) !== 0) throw webSocketError('a masked frame from the server');
  if (opcode > WEBSOCKET_OPCODE.pong || (opcode > WEBSOCKET_OPCODE.binary && opcode < WEBSOCKET_OPCODE.close)) {
    throw webSocketError(`unknown opcode ${opcode}`);
  }
  if (opcode >= WEBSOCKET_OPCODE.close && ((first & 0x80) === 0 || second > 125)) {
    throw webSocketError('a control frame that is fragmented or longer than 125 bytes');
  }
  const payloadStart = headerSize(second);
  if (available < payloadStart) return 0;
  let size = second;
  if (second >= 126) {
    size = 0;
    for (let at = start + 2; at < start + payloadStart; at++) size = size * 256 + byteAt(bytes, at);
  }
  if (size > maxBytes && opcode < WEBSOCKET_OPCODE.close) throw messageTooLarge(maxBytes, size);
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
  if (opcode !== WEBSOCKET_OPCODE.text && opcode !== WEBSOCKET_OPCODE.binary) {
    throw webSocketError('RSV1 is set on a frame that does not begin a message');
  }
}

function sizeOf(payload: string | Uint8Array): number {
  return typeof payload === 'string' ? Buffer.byteLength(payload) : payload.length;
}

function byteAt(bytes: Uint8Array, index: number): number {
  return bytes[index] as number;
}

/**
 * Encodes a frame with mask key 0, which leaves the payload unchanged. Random mask keys protect proxies from hostile
 * scripts in browsers; this client runs no scripts.
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

/** Size of the longest header of a masked frame, in bytes. */
const MAX_HEADER_BYTES = 14;

/**
 * Returns the size of the largest payload in the frames, or `known` if that is larger.
 * @param frames complete frames of `encodeFrame`
 * @param known largest size so far
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

/**
 * Encodes the frame of a message.
 * @param deflate compression, if the server has granted it; small messages stay uncompressed
 */
export function encodeMessage(
  opcode: number,
  message: string | Uint8Array,
  deflate: PerMessageDeflate | undefined,
): Buffer {
  if (deflate === undefined || sizeOf(message) < COMPRESSION_THRESHOLD_BYTES) return encodeFrame(opcode, message);
  const bytes = typeof message === 'string' ? Buffer.from(message) : message;
  return encodeFrame(COMPRESSED | opcode, deflate.deflate(bytes));
}

/**
 * Encodes a close frame.
 * @param code close code; undefined to send none, as socket.io-client does
 */
export function encodeClose(code?: number): Buffer {
  return encodeFrame(WEBSOCKET_OPCODE.close, code === undefined ? '' : Uint8Array.of(code >> 8, code & 0xff));
}

/** Returns the close code of a close frame; 1005 if it has none. */
export function closeCode(bytes: Uint8Array, start: number, end: number): number {
  if (end - start === 0) return 1005;
  if (end - start === 1) throw webSocketError('a close frame with half a code');
  const code = byteAt(bytes, start) * 256 + byteAt(bytes, start + 1);
  const isValid = (code >= 1000 && code <= 1014 && code !== 1004 && code !== 1005 && code !== 1006) || code >= 3000;
  if (!isValid || code > 4999) throw webSocketError(`invalid close code ${code}`);
  return code;
}
