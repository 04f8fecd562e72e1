/** Waits for values that other processes report periodically. */
import { setTimeout as delay } from 'node:timers/promises';

export { resultWithin } from '../../protocol/base/within.ts';

const POLL_MS = 50;
/** Maximum length of the wait while a server's backlog gets shorter, as a multiple of the configured deadline. */
export const MAX_DEADLINES = 10;

/**
 * Polls until a condition holds.
 * @returns false if the time limit passed or the signal aborted first
 */
export async function pollUntil(
  condition: () => boolean | Promise<boolean>,
  timeoutMs: number,
  signal: AbortSignal,
  pollMs = POLL_MS,
): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (signal.aborted || performance.now() > deadline) return false;
    await abortablePause(pollMs, signal);
    // After an abort, resources that `condition` uses may be closed, so it is not called again.
    if (signal.aborted) return false;
  }
  return true;
}

/** Waits for a time, or until the signal aborts. Never rejects. */
export async function abortablePause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(Math.max(0, ms), undefined, { signal }).catch(() => {});
}

/**
 * Retries a call until it succeeds.
 * @returns the result of the call; undefined if no call succeeds within `timeoutMs`
 */
export async function retryUntilSuccess<T>(ask: () => Promise<T>, timeoutMs: number): Promise<T | undefined> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    try {
      return await ask();
    } catch {
      if (performance.now() > deadline) return undefined;
      await delay(POLL_MS * 4);
    }
  }
}

/** Measures the time since a value last changed. */
export class ChangeTimer {
  #value: number | string | undefined;
  #atMs = 0;

  msSinceChange(value: number | string): number {
    if (value !== this.#value) [this.#value, this.#atMs] = [value, performance.now()];
    return performance.now() - this.#atMs;
  }
}
