/** Reads the answers on a kept HTTP/1.1 connection: in place if one arrives whole, otherwise collected. */
import type { BufferBudget } from '../buffer-budget.ts';
import { httpError, ProtocolError } from '../protocol-error.ts';
import { ByteQueue } from '../websocket/byte-queue.ts';

/** Memory for a body whose bytes have not arrived yet: until then its length is only a claim. */
const MAX_TRUSTED_BYTES = 64 * 1024;
const MAX_HEAD_BYTES = 16 * 1024;
/** Of a chunk's size with its extensions, and of a trailer. */
const MAX_LINE_BYTES = 1024;
const MAX_CACHED_HEADS = 64;
const TOO_MUCH = 'more bytes than the answer announced';
const NO_BODY = Buffer.alloc(0);
const NO_COOKIES: readonly string[] = [];

/** How the end of a body is found. */
const CHUNKED = -1;
const UNTIL_CLOSE = -2;

export interface ResponseHead {
  status: number;
  reason: string;
  location: string | undefined;
  retryAfter: string | undefined;
  /** The connection can take another request. */
  keepsAlive: boolean;
  /** The values of `Set-Cookie`. */
  cookies: readonly string[];
  /** In bytes; negative for a body of unknown length. */
  bodySize: number;
}

/** Heads differ only in the date, which changes once a second, and in the size of the body. */
const heads = new Map<string, ResponseHead>();

export interface HttpAnswer {
  head: ResponseHead;
  /** `body[start, end)`, valid until the next bytes are read. */
  body: Buffer;
  start: number;
  end: number;
}

export class ResponseReader {
  /** Some of the answer has arrived. */
  hasBegun = false;
  #head: ResponseHead | undefined = undefined;
  /** A head that is not complete. */
  #partialHead: ByteQueue | undefined = undefined;
  /** A body that is not complete. */
  #partialBody: ByteQueue | undefined = undefined;
  /** Of a chunked body: bytes left of the current chunk; 0 while its size, or the line end after it, is being read. */
  #chunkLeft = 0;
  #line = '';
  readonly #budget: BufferBudget;
  #afterLastChunk = false;

  /** @param budget for what waits for its end */
  constructor(budget: BufferBudget) {
    this.#budget = budget;
  }

  /**
   * Reads `bytes[start, end)`.
   * @returns the answer when it is complete
   * @throws ProtocolError `not_http`, `message_too_large`, `buffers_full`; only `discard` may be called afterwards
   */
  read(bytes: Buffer, start: number, end: number, maxBytes: number): HttpAnswer | undefined {
    this.hasBegun = true;
    let [from, at, to] = [bytes, start, end];
    if (this.#head === undefined) {
      const before = this.#partialHead;
      before?.append(bytes, start, end);
      if (before !== undefined) [from, at, to] = [before.bytes, 0, before.length];
      at = this.#readHead(from, at, to);
      if (at < 0) return undefined;
    }
    const { bodySize } = this.#head as unknown as ResponseHead;
    if (bodySize > maxBytes) throw tooLarge(maxBytes);
    if (bodySize === CHUNKED) return this.#readChunks(from, at, to, maxBytes);
    if (bodySize >= 0 && this.#partialBody === undefined && to - at >= bodySize) {
      if (to - at > bodySize) throw httpError(TOO_MUCH);
      return this.#finish(from, at, to);
    }
    this.#collect(from, at, to, maxBytes, Math.max(bodySize, 0));
    if (bodySize === UNTIL_CLOSE || this.#collected < bodySize) return undefined;
    if (this.#collected > bodySize) throw httpError(TOO_MUCH);
    return this.#finishCollected();
  }

  /** The server has closed the connection. @returns the answer if that completes it */
  ended(): HttpAnswer | undefined {
    return this.#head?.bodySize === UNTIL_CLOSE ? this.#finishCollected() : undefined;
  }

  /** Nothing more is read. Idempotent. */
  discard(): void {
    this.#partialHead?.release();
    this.#partialBody?.release();
    this.#partialHead = undefined;
    this.#partialBody = undefined;
  }

  #finishCollected(): HttpAnswer {
    return this.#finish(this.#partialBody?.bytes ?? NO_BODY, 0, this.#collected);
  }

  /** Prepares for the next answer, too. */
  #finish(body: Buffer, start: number, end: number): HttpAnswer {
    const head = this.#head as ResponseHead;
    this.#head = undefined;
    this.hasBegun = false;
    this.#partialBody?.release();
    this.#partialBody = undefined;
    this.#afterLastChunk = false;
    return { head, body, start, end };
  }

  /** @returns where the body begins, or -1 while the head is incomplete */
  #readHead(bytes: Buffer, start: number, end: number): number {
    let at = start;
    for (;;) {
      const text = bytes.toString('latin1', at, Math.min(at + MAX_HEAD_BYTES, end));
      if (!text.startsWith('HTTP/1.'.slice(0, text.length))) throw httpError('the answer is not HTTP');
      const size = text.indexOf('\r\n\r\n') + 4;
      if (size === 3) break;
      const head = parseHead(text.slice(0, size));
      at += size;
      // An interim answer (100, 103): the real one follows.
      if (head.status >= 200) {
        this.#head = head;
        this.#partialHead?.release();
        this.#partialHead = undefined;
        return at;
      }
      if (head.status === 101) throw httpError('an upgrade that was not asked for');
    }
    if (end - at >= MAX_HEAD_BYTES) throw httpError(`more than ${MAX_HEAD_BYTES} bytes of headers`);
    const rest = new ByteQueue(Math.max(512, end - at), this.#budget);
    rest.append(bytes, at, end);
    this.#partialHead?.release();
    this.#partialHead = rest;
    return -1;
  }

  #readChunks(bytes: Buffer, start: number, end: number, maxBytes: number): HttpAnswer | undefined {
    let at = start;
    while (at < end) {
      if (this.#chunkLeft > 0) {
        const taken = Math.min(this.#chunkLeft, end - at);
        this.#collect(bytes, at, at + taken, maxBytes);
        this.#chunkLeft -= taken;
        at += taken;
        continue;
      }
      const newline = bytes.indexOf(0x0a, at);
      const lineEnd = newline < 0 || newline >= end ? end : newline + 1;
      this.#line += bytes.toString('latin1', at, lineEnd);
      at = lineEnd;
      if (this.#line.length > MAX_LINE_BYTES) throw httpError(`a chunk header of more than ${MAX_LINE_BYTES} bytes`);
      if (!this.#line.endsWith('\n')) continue;
      const line = this.#line.trim();
      this.#line = '';
      if (this.#afterLastChunk) {
        // Trailers, then an empty line.
        if (line !== '') continue;
        if (at < end) throw httpError(TOO_MUCH);
        return this.#finishCollected();
      }
      // The line end after a chunk's bytes.
      if (line === '' && this.#collected > 0) continue;
      if (!/^[0-9a-f]{1,8}\s*(;|$)/i.test(line)) throw httpError('a chunk without a size');
      this.#chunkLeft = Number.parseInt(line, 16);
      if (this.#chunkLeft === 0) this.#afterLastChunk = true;
    }
    return undefined;
  }

  get #collected(): number {
    return this.#partialBody?.length ?? 0;
  }

  #collect(bytes: Buffer, start: number, end: number, maxBytes: number, expectedBytes = 0): void {
    this.#partialBody ??= new ByteQueue(Math.min(Math.max(expectedBytes, 1024), MAX_TRUSTED_BYTES), this.#budget);
    if (this.#collected + end - start > maxBytes) throw tooLarge(maxBytes);
    this.#partialBody.append(bytes, start, end);
  }
}

function parseHead(text: string): ResponseHead {
  let head = heads.get(text);
  if (head === undefined) {
    head = readHead(text);
    if (heads.size === MAX_CACHED_HEADS) heads.clear();
    heads.set(text, head);
  }
  return head;
}

function readHead(text: string): ResponseHead {
  const [, version, status] = /^HTTP\/1\.(\d) (\d{3})/.exec(text) ?? [];
  if (status === undefined) throw httpError('the answer is not HTTP');
  const values = (name: string) =>
    [...text.matchAll(new RegExp(`\\r\\n${name}:[ \\t]*([^\\r\\n]*?)[ \\t]*(?=\\r\\n)`, 'gi'))].map(
      ([, value]) => value as string,
    );
  const connection = values('connection').join().toLowerCase();
  const cookies = values('set-cookie');
  const coding = values('content-encoding').join();
  if (coding !== '' && coding !== 'identity') throw httpError(`an answer in ${coding}, which was not asked for`);
  const bodySize = bodySizeOf(Number(status), values('transfer-encoding').join(), values('content-length'));
  return {
    status: Number(status),
    reason: text.slice(13, text.indexOf('\r\n')),
    location: values('location')[0],
    retryAfter: values('retry-after')[0],
    keepsAlive:
      bodySize !== UNTIL_CLOSE && (version === '1' ? !connection.includes('close') : connection.includes('keep-alive')),
    cookies: cookies.length === 0 ? NO_COOKIES : cookies,
    bodySize,
  };
}

function bodySizeOf(status: number, transferEncoding: string, lengths: string[]): number {
  if (status < 200 || status === 204 || status === 304) return 0;
  if (transferEncoding !== '') {
    if (transferEncoding.toLowerCase() === 'chunked') return CHUNKED;
    throw httpError(`transfer encoding ${transferEncoding}`);
  }
  const [length] = lengths;
  if (length === undefined) return UNTIL_CLOSE;
  if (lengths.some((one) => one !== length) || !/^\d{1,15}$/.test(length)) throw httpError('no valid Content-Length');
  return Number(length);
}

function tooLarge(maxBytes: number): ProtocolError {
  return new ProtocolError('message_too_large', 'message too large', `an answer of more than ${maxBytes} bytes`);
}
