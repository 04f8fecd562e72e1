/** The answer of a server that does not upgrade: its head, and the first bytes of its body, which often say why. */
import { httpFailure } from '../../client/http-answer.ts';
import { ProtocolError } from '../protocol-error.ts';

const LOCATION = headerPattern('location');
const RETRY_AFTER = headerPattern('retry-after');
const LENGTH = headerPattern('content-length');
const CHUNKED = /\r\ntransfer-encoding:[^\r\n]*chunked/i;
const CHUNK_HEAD = /^[0-9a-f]+[^\n]*\n/i;
/** More than is ever quoted. */
const MAX_BODY_BYTES = 1024;
const WITHOUT_BODY = new Set([204, 304]);

export class Refusal {
  readonly #status: number;
  readonly #head: string;
  readonly #isChunked: boolean;
  #body = Buffer.alloc(0);

  /** @param head to the end of the empty line */
  constructor(status: number, head: string) {
    this.#status = status;
    this.#head = head;
    this.#isChunked = CHUNKED.test(head);
  }

  /** Copies the first of `bytes[start, end)`. */
  append(bytes: Buffer, start: number, end: number): void {
    const wanted = Math.min(end, start + MAX_BODY_BYTES - this.#body.length);
    if (wanted > start) this.#body = Buffer.concat([this.#body, bytes.subarray(start, wanted)]);
  }

  /** Some of the body is there, or there is none. */
  get isComplete(): boolean {
    if (WITHOUT_BODY.has(this.#status) || LENGTH.exec(this.#head)?.[1] === '0') return true;
    return this.#said() !== '' || this.#body.length === MAX_BODY_BYTES;
  }

  toError(): ProtocolError {
    const { cause, message, retryAfterMs } = httpFailure({
      status: this.#status,
      reason: this.#head.slice(13, this.#head.indexOf('\r\n')),
      location: LOCATION.exec(this.#head)?.[1],
      retryAfter: RETRY_AFTER.exec(this.#head)?.[1],
      body: this.#said(),
    });
    return new ProtocolError(cause, 'transport error', message, retryAfterMs);
  }

  #said(): string {
    const text = this.#body.toString();
    if (!this.#isChunked) return text.trim();
    // The first chunk begins with its size.
    return CHUNK_HEAD.test(text) ? text.replace(CHUNK_HEAD, '').trim() : '';
  }
}

export function headerPattern(name: string): RegExp {
  return new RegExp(`\\r\\n${name}:[ \\t]*([^\\r\\n]*?)[ \\t]*\\r\\n`, 'i');
}
