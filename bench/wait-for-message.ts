/** Functions that wait for other processes. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';

const START_TIMEOUT_MS = 60_000;

/**
 * Polls the condition until it is true.
 * @throws Error after the timeout
 */
export async function waitUntil(
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

/**
 * Returns the first message of a forked process, which is sent when it has started.
 * @throws Error if the process ends before; its own error is on stderr
 */
export async function firstMessage(child: ChildProcess, what: string): Promise<unknown> {
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`${what} did not start (exit code ${code})`);
  });
  ended.catch(() => {});
  const [message] = await Promise.race([
    once(child, 'message', { signal: AbortSignal.timeout(START_TIMEOUT_MS) }),
    ended,
  ]);
  return message;
}
