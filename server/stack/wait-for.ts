import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 25;

/**
 * Polls the condition until it is true.
 * @returns false after the timeout
 */
export async function waitUntilTrue(isTrue: () => boolean | Promise<boolean>, timeoutMs: number): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  while (!(await isTrue())) {
    if (performance.now() > deadline) return false;
    await sleep(POLL_MS);
  }
  return true;
}

export async function respondsOk(url: string): Promise<boolean> {
  return fetch(url, { signal: AbortSignal.timeout(2_000) }).then(
    ({ ok }) => ok,
    () => false,
  );
}
