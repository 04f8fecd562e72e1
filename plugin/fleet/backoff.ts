/** How long to wait before another attempt: of a first connection, by the engine; of one that dropped, by its process. */
import type { Backoff } from '../../protocol/wire/connection.ts';

/**
 * @param attempt 1 for the first repeat
 * @returns an exponential delay up to the maximum, of which the share `jitter` is random
 */
export function retryDelayMs({ delayMs, maxDelayMs, jitter }: Backoff, attempt: number): number {
  const fullMs = Math.min(maxDelayMs, delayMs * 2 ** (attempt - 1));
  return fullMs * (1 - jitter + jitter * Math.random());
}
