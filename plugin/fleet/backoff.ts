/** Delay before a retry. The engine retries first connects; the fleet process retries dropped connections. */
import type { Backoff } from '../../protocol/wire/connection.ts';

/**
 * @param attempt 1 for the first retry
 * @returns delay in milliseconds: doubles with each attempt up to the maximum; the share `jitter` of it is random
 */
export function retryDelayMs({ delayMs, maxDelayMs, jitter }: Backoff, attempt: number): number {
  const fullMs = Math.min(maxDelayMs, delayMs * 2 ** (attempt - 1));
  return fullMs * (1 - jitter + jitter * Math.random());
}
