/** Waiting for measurements that arrive as periodic reports of other processes, so that no event announces them. */
import { setTimeout as delay } from 'node:timers/promises';

export { within } from '../../protocol/base/within.ts';

const POLL_MS = 50;
/** A backlog of the server is waited for while it gets shorter, for as many of the deadlines that the options set. */
export const MOST_DEADLINES = 10;

/** @returns false if it has not happened after `timeoutMs`, or the signal came first */
export async function until(
  condition: () => boolean | Promise<boolean>,
  timeoutMs: number,
  signal: AbortSignal,
  pollMs = POLL_MS,
): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (signal.aborted || performance.now() > deadline) return false;
    await pause(pollMs, signal);
    // Whoever is asked may be gone by now.
    if (signal.aborted) return false;
  }
  return true;
}

/** Resolves early, and does not reject, when the signal comes. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(Math.max(0, ms), undefined, { signal }).catch(() => {});
}

/** @returns the first answer that is no rejection; undefined when there is none within `timeoutMs` */
export async function succeed<T>(ask: () => Promise<T>, timeoutMs: number): Promise<T | undefined> {
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

/** Time since a value last changed. */
export class Since {
  #value: number | string | undefined;
  #atMs = 0;

  /** @returns milliseconds */
  same(value: number | string): number {
    if (value !== this.#value) [this.#value, this.#atMs] = [value, performance.now()];
    return performance.now() - this.#atMs;
  }
}
