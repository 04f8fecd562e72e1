/** Limits how long the run waits for answers from other programs, and how large these answers may be. */

import { SourceAbsentError } from './absence.ts';

interface Destroyable {
  destroy(error: Error): unknown;
  on(event: 'error', listener: () => void): unknown;
  once(event: 'close', listener: () => void): unknown;
}

/**
 * Destroys a request with `ETIMEDOUT` if it is not complete in time. An idle timeout would not suffice, because an
 * answer may send a byte every second forever.
 */
export function destroyAfter(request: Destroyable, timeoutMs: number): void {
  const late = Object.assign(new Error(`no answer within ${timeoutMs} ms`), { code: 'ETIMEDOUT' });
  const timer = setTimeout(() => request.destroy(late), timeoutMs);
  request.once('close', () => clearTimeout(timer));
  // Prevents an uncaught error if the caller no longer listens for errors.
  request.on('error', () => {});
}

/**
 * Returns the first bytes of a response body as text. If the connection breaks, returns the bytes received so far.
 * Never rejects.
 */
export async function bodyBeginning(body: AsyncIterable<Uint8Array> | [], maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      size += chunk.length;
      if (size >= maxBytes) break;
    }
  } catch {
    // If the connection breaks, the received part of the body is used.
  }
  return Buffer.concat(chunks).toString('utf8', 0, maxBytes);
}

export class TimeLimitError extends SourceAbsentError {
  constructor(timeoutMs: number) {
    super('unanswered', `no answer within ${timeoutMs} ms`);
  }
}

/**
 * Waits for a promise with a time limit.
 * @throws TimeLimitError after the time limit; a later result or error is ignored
 */
export async function withTimeLimit<T>(promise: Promise<T>, timeoutMs: number): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new TimeLimitError(timeoutMs)), timeoutMs);
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
