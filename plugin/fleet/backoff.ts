/** How long to wait before another attempt: of a first connection, by the engine; of one that dropped, by its process. */
import type { Backoff } from '../../protocol/connection.ts';

/**
 * @param attempt 1 for the first repeat
 * @returns an exponential delay up to the maximum, of which the share `jitter` is random
 */
function backoffDelayMs({ delayMs, maxDelayMs, jitter }: Backoff, attempt: number): number {
  const fullMs = Math.min(maxDelayMs, delayMs * 2 ** (attempt - 1));
  return fullMs * (1 - jitter + jitter * Math.random());
}

/** A server that asks for more is not asked again in this run. */
const MAX_RETRY_AFTER_MS = 300_000;

/**
 * @param retryAfterMs what the refusal of the attempt before asks for with `Retry-After`: the shortest delay
 * @returns undefined if the server wants to be left alone for longer than a run can wait
 */
export function retryDelayMs(backoff: Backoff, attempt: number, retryAfterMs = 0): number | undefined {
  if (retryAfterMs > MAX_RETRY_AFTER_MS) return undefined;
  // On top of it: not all who were refused together come back together.
  return retryAfterMs === 0
    ? backoffDelayMs(backoff, attempt)
    : retryAfterMs + Math.random() * backoff.delayMs * backoff.jitter;
}
