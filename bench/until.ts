import { setTimeout as delay } from 'node:timers/promises';

/** @throws Error if the condition does not become true in time */
export async function until(
  condition: () => Promise<boolean>,
  timeoutMs: number,
  what: string,
  signal?: AbortSignal,
): Promise<void> {
  const deadlineMs = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > deadlineMs) throw new Error(`waited ${timeoutMs / 1000} s for ${what}`);
    await delay(100, undefined, { signal });
  }
}
