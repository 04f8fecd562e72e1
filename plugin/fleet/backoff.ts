/** Delay before a retry. The engine retries first connects; the fleet process retries dropped connections. */
import type { Backoff } from '../../protocol/wire/connection.ts';

/**
 * Returns the delay before a retry in milliseconds. It doubles with each attempt up to the maximum, and its share
 * `jitter` is random.
 * @param attempt 1 for the first retry
 */
export function retryDelayMs({ delayMs, maxDelayMs, jitter }: Backoff, attempt: number): number {
  const fullMs = Math.min(maxDelayMs, delayMs * 2 ** (attempt - 1));
  return fullMs * (1 - jitter + jitter * Math.random());
}
