import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 25;

/** @returns whether the condition came true in time */
export async function waitFor(isTrue: () => boolean | Promise<boolean>, timeoutMs: number): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  while (!(await isTrue())) {
    if (performance.now() > deadline) return false;
    await sleep(POLL_MS);
  }
  return true;
}

/** @returns whether the server at the URL answers with a status of success */
export async function isWell(url: string): Promise<boolean> {
  return fetch(url, { signal: AbortSignal.timeout(2_000) }).then(
    ({ ok }) => ok,
    () => false,
  );
}
