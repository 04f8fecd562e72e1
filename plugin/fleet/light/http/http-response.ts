/**
 * Reads HTTP/1.1 responses to polling requests and WebSocket upgrades. A response that arrives in one piece is read in
 * place; otherwise its pieces are collected first. For an error response, the start of the body is enough to find the
 * reason.
 */
import { type ConnectionFailure, httpFailure } from '../../client/failure.ts';
import type { BufferBudget } from '../buffer-budget.ts';
import { ByteQueue } from '../byte-queue.ts';
import { messageTooLarge, type ProtocolError } from '../protocol-error.ts';

/**
 * Largest number of bytes that are allocated for a body before it has arrived, because the announced length may be
 * wrong.
 */
const MAX_TRUSTED_BYTES = 64 * 1024;
const MAX_HEAD_BYTES = 16 * 1024;
/** Longest accepted chunk header or trailer, in bytes. */
const MAX_LINE_BYTES = 1024;
/** Largest number of bytes that are kept of the body of an error response. */
const MAX_REFUSAL_BYTES = 1024;
const CHUNK_HEAD = /^([0-9a-f]+)[^\n]*\n/i;
/** Matches a chunked body without content. */
const NO_CHUNKS = /^0+[^\n]*\n/;
const EXCESS_BYTES = 'more bytes than the answer announced';
const NO_BODY = Buffer.alloc(0);

/** Special values of the body size, for bodies without a valid announced length. */
const CHUNKED = -1;
const UNTIL_CLOSE = -2;
const UNKNOWN = -3;

export interface HttpResponseHead {
  status: number;
  reason: string;
  /** Header values by lower-case name. */
  headers: ReadonlyMap<string, readonly string[]>;
  /** Whether the TCP connection can be used for another request after the response. */
  keepsAlive: boolean;
  /** Body size in bytes; negative if the size is not announced. */
  bodySize: number;
}

export interface HttpResponse {
  head: HttpResponseHead;
  /**
   * Buffer that contains the body in `body[start, end)`; valid until further bytes are read. For status 101, it
   * contains the bytes after the head.
   */
  body: Buffer;
  start: number;
  end: number;
}

/** Status that the response must have, and the error for any other status. */
export interface ExpectedResponse {
  status: 101 | 200;
  error: (message: string) => ProtocolError;
  readHead: (text: string) => HttpResponseHead;
}

export class HttpResponseReader {
  /** Whether the start of the response has arrived. */
  hasBegun = false;
  #head: HttpResponseHead | undefined = undefined;
  /** Received bytes of a head or body that is still incomplete. */
  #queue: ByteQueue | undefined = undefined;
  /** Number of bytes of the current chunk that are still missing. 0 while a chunk header or a line end is read. */
  #chunkLeft = 0;
  #line = '';
  #afterLastChunk = false;
  /** Start of the body of an error response. */
  #refusalBody = NO_BODY;
  readonly #expected: ExpectedResponse;
  readonly #budget: BufferBudget;

  /**
   * Creates a reader of responses.
   * @param budget limit of buffered bytes
   */
  constructor(expected: ExpectedResponse, budget: BufferBudget) {
    this.#expected = expected;
    this.#budget = budget;
  }

  /**
   * Reads `bytes[start, end)`.
   * @returns the response when it is complete, or when enough of an error response has arrived; undefined until then
   * @throws ProtocolError; then only `discard` may be called
   */
  read(bytes: Buffer, start: number, end: number, maxBytes: number): HttpResponse | undefined {
    this.hasBegun = true;
    let [from, at, to] = [bytes, start, end];
    if (this.#head === undefined) {
      const before = this.#queue;
      before?.append(bytes, start, end);
      if (before !== undefined) [from, at, to] = [before.bytes, 0, before.length];
      at = this.#readHead(from, at, to);
      if (at < 0) return undefined;
    }
    const { status, bodySize } = this.#head as unknown as HttpResponseHead;
    if (status !== this.#expected.status) return this.#readRefusal(from, at, to);
    if (status === 101) return this.#finish(from, at, to);
    if (bodySize === UNKNOWN) throw this.#expected.error('a body whose length is not valid');
    if (bodySize > maxBytes) throw messageTooLarge(maxBytes, bodySize);
    if (bodySize === CHUNKED) return this.#readChunks(from, at, to, maxBytes);
    if (bodySize >= 0 && this.#queue === undefined && to - at >= bodySize) {
      if (to - at > bodySize) throw this.#expected.error(EXCESS_BYTES);
      return this.#finish(from, at, to);
    }
    this.#collect(from, at, to, maxBytes, Math.max(bodySize, 0));
    if (bodySize === UNTIL_CLOSE || this.#collected < bodySize) return undefined;
    if (this.#collected > bodySize) throw this.#expected.error(EXCESS_BYTES);
    return this.#finishCollected();
  }

  /**
   * Handles the end of the TCP connection.
   * @returns the response, if the end of the connection is also the end of the response
   */
  ended(): HttpResponse | undefined {
    return this.refusal ?? (this.#head?.bodySize === UNTIL_CLOSE ? this.#finishCollected() : undefined);
  }

  /** Part of an error response that has been received so far; undefined if the response is not an error. */
  get refusal(): HttpResponse | undefined {
    const head = this.#head;
    if (head === undefined || head.status === this.#expected.status) return undefined;
    return { head, body: this.#refusalBody, start: 0, end: this.#refusalBody.length };
  }

  /** Stops reading and releases memory. Idempotent. */
  discard(): void {
    this.#queue?.release();
    this.#queue = undefined;
  }

  #finishCollected(): HttpResponse {
    return this.#finish(this.#queue?.bytes ?? NO_BODY, 0, this.#collected);
  }

  /** Returns the response, and prepares to read the next response. */
  #finish(body: Buffer, start: number, end: number): HttpResponse {
    const head = this.#head as HttpResponseHead;
    this.#head = undefined;
    this.hasBegun = false;
    this.#afterLastChunk = false;
    this.discard();
    return { head, body, start, end };
  }

  /**
   * Reads the head of a response.
   * @returns the start of the body, or -1 if the head is incomplete
   */
  #readHead(bytes: Buffer, start: number, end: number): number {
    let at = start;
    for (;;) {
      const text = bytes.toString('latin1', at, Math.min(at + MAX_HEAD_BYTES, end));
      if (!text.startsWith('HTTP/1.'.slice(0, text.length))) throw this.#expected.error('the answer is not HTTP');
      const size = text.indexOf('\r\n\r\n') + 4;
      if (size === 3) break;
      const head = this.#expected.readHead(text.slice(0, size));
      at += size;
      // Interim responses (status 100 or 103) are skipped; the final response follows.
      if (head.status < 200 && head.status !== 101) continue;
      this.#head = head;
      this.discard();
      return at;
    }
    if (end - at >= MAX_HEAD_BYTES) throw this.#expected.error(`more than ${MAX_HEAD_BYTES} bytes of headers`);
    if (this.#queue === undefined || at > 0) {
      const rest = new ByteQueue(Math.max(512, end - at), this.#budget);
      rest.append(bytes, at, end);
      this.discard();
      this.#queue = rest;
    }
    return -1;
  }

  #readRefusal(bytes: Buffer, start: number, end: number): HttpResponse | undefined {
    const refusalEnd = Math.min(end, start + MAX_REFUSAL_BYTES - this.#refusalBody.length);
    if (refusalEnd > start) this.#refusalBody = Buffer.concat([this.#refusalBody, bytes.subarray(start, refusalEnd)]);
    const answer = this.refusal as HttpResponse;
    const { bodySize } = answer.head;
    const isEmpty = bodySize === 0 || (bodySize === CHUNKED && NO_CHUNKS.test(this.#refusalBody.toString('latin1')));
    const isComplete =
      isEmpty ||
      this.#refusalBody.length === (bodySize > 0 ? Math.min(bodySize, MAX_REFUSAL_BYTES) : MAX_REFUSAL_BYTES);
    return isComplete || refusalText(answer) !== '' ? answer : undefined;
  }

  #readChunks(bytes: Buffer, start: number, end: number, maxBytes: number): HttpResponse | undefined {
    const { error } = this.#expected;
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
      if (this.#line.length > MAX_LINE_BYTES) throw error(`a chunk header of more than ${MAX_LINE_BYTES} bytes`);
      if (!this.#line.endsWith('\n')) continue;
      const line = this.#line.trim();
      this.#line = '';
      if (this.#afterLastChunk) {
        // Trailers may follow the last chunk. An empty line ends the response.
        if (line !== '') continue;
        if (at < end) throw error(EXCESS_BYTES);
        return this.#finishCollected();
      }
      // An empty line ends the bytes of a chunk.
      if (line === '' && this.#collected > 0) continue;
      if (!/^[0-9a-f]{1,8}\s*(;|$)/i.test(line)) throw error('a chunk without a size');
      this.#chunkLeft = Number.parseInt(line, 16);
      if (this.#chunkLeft === 0) this.#afterLastChunk = true;
    }
    return undefined;
  }

  get #collected(): number {
    return this.#queue?.length ?? 0;
  }

  #collect(bytes: Buffer, start: number, end: number, maxBytes: number, expectedBytes = 0): void {
    this.#queue ??= new ByteQueue(Math.min(Math.max(expectedBytes, 1024), MAX_TRUSTED_BYTES), this.#budget);
    if (this.#collected + end - start > maxBytes) throw messageTooLarge(maxBytes);
    this.#queue.append(bytes, start, end);
  }
}

/**
 * Parses the head of a response.
 * @param text head, including the empty line
 * @param error creates the error for an invalid head
 * @throws ProtocolError
 */
export function parseResponseHead(text: string, error: ExpectedResponse['error']): HttpResponseHead {
  const [first = '', ...lines] = text.split('\r\n');
  const [, version, digits] = /^HTTP\/1\.(\d) (\d{3})/.exec(first) ?? [];
  if (digits === undefined) throw error('the answer is not HTTP');
  const headers = new Map<string, string[]>();
  for (const line of lines) {
    const colon = line.indexOf(':');
    const name = line.slice(0, Math.max(colon, 0)).toLowerCase();
    const value = line.slice(colon + 1).trim();
    const values = headers.get(name);
    if (values) values.push(value);
    else headers.set(name, [value]);
  }
  const status = Number(digits);
  const bodySize = bodySizeOf(status, headers);
  const connection = headers.get('connection')?.join().toLowerCase() ?? '';
  const keepsAlive = version === '1' ? !connection.includes('close') : connection.includes('keep-alive');
  return { status, reason: first.slice(13), headers, keepsAlive: bodySize !== UNTIL_CLOSE && keepsAlive, bodySize };
}

function bodySizeOf(status: number, headers: ReadonlyMap<string, readonly string[]>): number {
  if (status < 200 || status === 204 || status === 304) return 0;
  const coding = headers.get('transfer-encoding');
  if (coding) return coding.join().toLowerCase() === 'chunked' ? CHUNKED : UNKNOWN;
  const [length, ...others] = headers.get('content-length') ?? [];
  if (length === undefined) return UNTIL_CLOSE;
  return others.some((other) => other !== length) || !/^\d{1,15}$/.test(length) ? UNKNOWN : Number(length);
}

/** Returns the failure of a connection attempt that the server refused with an HTTP error response. */
export function failureOfResponse(answer: HttpResponse): ConnectionFailure {
  const { status, reason, headers } = answer.head;
  return httpFailure({ status, reason, header: (name) => headers.get(name)?.[0], body: refusalText(answer) });
}

function refusalText({ head, body, start, end }: HttpResponse): string {
  if (head.bodySize !== CHUNKED) return body.toString('utf8', start, end).trim();
  // A chunked body begins with the size of its first chunk.
  const [line, size] = CHUNK_HEAD.exec(body.toString('latin1', start, end)) ?? [];
  if (line === undefined || size === undefined) return '';
  const from = start + line.length;
  return body.toString('utf8', from, Math.min(from + Number.parseInt(size, 16), end)).trim();
}
