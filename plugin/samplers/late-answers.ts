/** What is required of any other program's answer: that it comes in time, that it ends, and that its figures can be. */

import { Absent } from './absence.ts';

/** An HTTP request, or a connection. */
interface Asked {
  destroy(error: Error): unknown;
  on(event: 'error', listener: () => void): unknown;
  once(event: 'close', listener: () => void): unknown;
}

/** Ends it with `ETIMEDOUT`, also in the midst of its answer: who sends a byte each second is never silent. */
export function limitTime(asked: Asked, timeoutMs: number): void {
  const late = Object.assign(new Error(`no answer within ${timeoutMs} ms`), { code: 'ETIMEDOUT' });
  const timer = setTimeout(() => asked.destroy(late), timeoutMs);
  asked.once('close', () => clearTimeout(timer));
  // Nobody may be waiting by then.
  asked.on('error', () => {});
}

/** @returns the first bytes of a body as text, or those that came before it broke off. Never rejects */
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
    // What came has to do.
  }
  return Buffer.concat(chunks).toString('utf8', 0, maxBytes);
}

export class Late extends Absent {
  constructor(timeoutMs: number) {
    super('unanswered', `no answer within ${timeoutMs} ms`);
  }
}

/** @throws Late if it takes longer; what comes then is ignored, also an error */
export async function within<T>(promise: Promise<T>, timeoutMs: number): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Late(timeoutMs)), timeoutMs);
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
