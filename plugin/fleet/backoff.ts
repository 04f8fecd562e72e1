/**
 * Delay before a connection is tried again. The engine retries first connects; the fleet process retries dropped
 * connections.
 */
import type { Backoff } from '../../protocol/wire/connection.ts';

/**
 * Returns the delay before a retry in milliseconds. The delay doubles with each attempt up to the maximum. The share
 * `jitter` of the delay is random.
 * @param attempt number of the retry: 1 for the first one
 */
export function retryDelayMs({ delayMs, maxDelayMs, jitter }: Backoff, attempt: number): number {
  const fullMs = Math.min(maxDelayMs, delayMs * 2 ** (attempt - 1));
  return fullMs * (1 - jitter + jitter * Math.random());
}
