/**
 * Opens short connections before the baseline, so that one-time costs of a worker, such as compiling code, do not count
 * for the measured connections. Only a few connections are open at a time, and garbage is collected often: otherwise,
 * the first measured connections would reuse memory that the allocators kept from the warm-up. The warm-up uses the
 * same engine and fleet as the load, and their counts are reset afterwards.
 */
import { mapLimit } from '../../protocol/base/map-limit.ts';
import type { WarmUpRequest } from '../../protocol/link/link-messages.ts';
import type { RunContext } from './context.ts';
import { connectionsOfWorkers } from './population.ts';
import { connectClient } from './receivers/connect-client.ts';
import { joinRoom } from './receivers/join-room.ts';
import { abortablePause, pollUntil } from './wait.ts';

const CONCURRENCY = 10;
/** Number of warm-up connections per worker between two garbage collections. */
const ROUND_SIZE = 50;
const BROADCAST_INTERVAL_MS = 100;
const LEAVE_TIMEOUT_MS = 10_000;

/**
 * Warms up the workers. Resolves when all connections have closed and their garbage is collected. Does nothing with
 * `warmUp: 0`.
 */
export async function warmUpWorkers(context: RunContext): Promise<void> {
  const { config, control, collector, measurements, signal } = context;
  // If the number of workers is unknown, the warm-up opens at most as many connections as the load.
  const workers = control.size || 1;
  const count = control.size > 0 ? config.warmUp * workers : Math.min(config.warmUp, config.load.connections);
  if (count === 0) return;
  let failure: string | undefined;
  let made = 0;
  for (; made < count && failure === undefined && !signal.aborted; made += ROUND_SIZE * workers) {
    const round = Math.min(ROUND_SIZE * workers, count - made);
    failure = await connectBriefly(context, round).then(
      () => undefined,
      (error: Error) => error.message,
    );
    await collector.gc();
  }
  if (signal.aborted || failure === undefined) return;
  measurements.observations.note('warmUpFailed', { error: failure, connections: Math.min(made, count) });
}

/**
 * Opens and closes the warm-up connections.
 * @throws Error of the first failed connection, after all connections have closed
 */
async function connectBriefly(context: RunContext, count: number): Promise<void> {
  const { ledger, link, config, control, clients } = context;
  const before = connectionsOfWorkers(await control.stats());
  const done = new AbortController();
  const signal = AbortSignal.any([context.signal, done.signal]);
  const room = control.size > 0 ? roomOf(config.room) : undefined;
  const order = { connections: count, together: CONCURRENCY, room };
  const connecting = (ledger && !clients.areUsers ? link.warmUp(order) : warmUpInRun(context, order)).finally(() =>
    done.abort(),
  );
  const outcomes = await Promise.allSettled([connecting, broadcastUntil(context, signal)]);
  await awaitClosed(context, before);
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
}

/**
 * Opens the connections from the run's own process: for external engines, and for servers that accept only virtual
 * users.
 */
function warmUpInRun({ clients, signal }: RunContext, { connections, together, room }: WarmUpRequest): Promise<void> {
  return mapLimit(connections, together, async () => {
    if (signal.aborted) return;
    const { socket } = await connectClient(clients.nextTemporary(), signal);
    try {
      if (room !== undefined) await joinRoom(socket, room);
    } finally {
      await socket.disconnect();
    }
  });
}

/** Makes the workers broadcast one after the other until the signal aborts. */
async function broadcastUntil({ control, config }: RunContext, signal: AbortSignal): Promise<void> {
  if (control.size === 0) return;
  const { bytes, binary } = config.broadcasts;
  const order = { room: roomOf(config.room), bytes, ...(binary && { binary }) };
  for (let seq = 1; !signal.aborted; seq++) {
    await control.broadcast({ ...order, seq }, seq % control.size);
    await abortablePause(BROADCAST_INTERVAL_MS, signal);
  }
}

async function awaitClosed(context: RunContext, before: number): Promise<void> {
  const haveLeft = async () => connectionsOfWorkers(await context.control.stats()) <= before;
  if (await pollUntil(haveLeft, LEAVE_TIMEOUT_MS, context.signal)) return;
  if (!context.signal.aborted) throw new Error(`they did not close within ${LEAVE_TIMEOUT_MS / 1000} s`);
}

function roomOf(room: string): string {
  return `${room}:warm-up`;
}
