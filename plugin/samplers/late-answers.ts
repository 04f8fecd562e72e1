/** Limits the time and size of other programs' answers. */

import { Absent } from './absence.ts';

interface Destroyable {
  destroy(error: Error): unknown;
  on(event: 'error', listener: () => void): unknown;
  once(event: 'close', listener: () => void): unknown;
}

/** Destroys a request with `ETIMEDOUT` unless it is complete in time: an idle timeout would allow a byte each second forever. */
export function limitTime(request: Destroyable, timeoutMs: number): void {
  const late = Object.assign(new Error(`no answer within ${timeoutMs} ms`), { code: 'ETIMEDOUT' });
  const timer = setTimeout(() => request.destroy(late), timeoutMs);
  request.once('close', () => clearTimeout(timer));
  // The error would be uncaught if the caller no longer listens.
  request.on('error', () => {});
}

/** Returns the first bytes of a body as text; fewer if it breaks off. Never rejects. */
export async function beginningOf(body: AsyncIterable<Uint8Array> | [], maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      size += chunk.length;
      if (size >= maxBytes) break;
    }
  } catch {
    // A body that breaks off is used as far as it was received.
  }
  return Buffer.concat(chunks).toString('utf8', 0, maxBytes);
}

export class Late extends Absent {
  constructor(timeoutMs: number) {
    super('unanswered', `no answer within ${timeoutMs} ms`);
  }
}

/** @throws Late if the promise does not settle in time; its later result or error is ignored */
export async function within<T>(promise: Promise<T>, timeoutMs: number): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Late(timeoutMs)), timeoutMs);
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
