/** A window of broadcasts. */
import { setTimeout as delay } from 'node:timers/promises';
import { PING_INTERVAL_MS, type Worker } from './worker.ts';

export interface BroadcastPlan {
  count: number;
  bytes: number;
}

/** End of the window, reserved for the last receipts. */
const LAST_MS = 500;

/**
 * On an absolute schedule, spread over the same time as an idle window; resolves shortly before that time is over.
 * @throws Error when fewer than `connections` are members of the room
 */
export async function publish(
  worker: Worker,
  { count, bytes }: BroadcastPlan,
  connections: number,
  signal: AbortSignal,
): Promise<void> {
  const startMs = performance.now();
  for (let index = 0; index < count; index++) {
    const atMs = startMs + (index * PING_INTERVAL_MS) / count;
    await delay(Math.max(0, atMs - performance.now()), undefined, { signal });
    const expected = await worker.broadcast(bytes);
    if (expected < connections) throw new Error(`only ${expected} of ${connections} have joined the room`);
  }
  const endMs = startMs + PING_INTERVAL_MS - LAST_MS;
  await delay(Math.max(0, endMs - performance.now()), undefined, { signal });
}
