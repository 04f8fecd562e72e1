/** For facts of other processes that no event announces. */
import { setTimeout as delay } from 'node:timers/promises';

/** @throws Error after `timeoutMs`, naming what was waited for */
export async function eventually(what: string, condition: () => boolean | Promise<boolean>, timeoutMs = 10_000) {
  const deadline = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`waited ${timeoutMs} ms in vain: ${what}`);
    await delay(20);
  }
}
