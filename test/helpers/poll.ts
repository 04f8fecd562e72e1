/** Polls for changes of other processes that no event announces. */
import { setTimeout as delay } from 'node:timers/promises';

/**
 * Polls until the result is truthy.
 * @param context returns further text for the error
 * @throws Error with `what` after `timeoutMs`
 */
export async function eventually<T>(
  what: string,
  look: () => T | Promise<T>,
  timeoutMs = 60_000,
  context = () => '',
): Promise<NonNullable<T>> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const value = await look();
    if (value) return value;
    if (performance.now() > deadline) throw new Error(`did not happen within ${timeoutMs} ms: ${what}\n${context()}`);
    await delay(20);
  }
}
