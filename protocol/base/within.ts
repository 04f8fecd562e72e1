import { setTimeout as delay } from 'node:timers/promises';

/** Returns the value of the promise, or undefined after `timeoutMs`. */
export async function resultWithin<T>(promise: Promise<T>, timeoutMs: number): Promise<T | undefined> {
  const timer = new AbortController();
  const late = delay(timeoutMs, undefined, { signal: timer.signal }).catch(() => undefined);
  try {
    return await Promise.race([promise, late]);
  } finally {
    timer.abort();
  }
}
