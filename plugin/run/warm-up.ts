/**
 * Short connections before the baseline. A worker pays once for what its very first connections make it compile and set
 * up, and a line through the plateaus would spread that over all of them. They come a few at a time, and what they leave is
 * collected often: room that many of them have left in the allocators, the first measured connections would find there
 * for nothing.
 * They take the same way as measured ones, through engine and fleet, which reset their counts afterwards.
 */
import { mapLimit } from '../../protocol/base/map-limit.ts';
import type { WarmUpOrder } from '../../protocol/link/link-messages.ts';
import type { RunContext } from './context.ts';
import { connectionsOf } from './population.ts';
import { connectClient } from './receivers/connect-client.ts';
import { joinRoom } from './receivers/join-room.ts';
import { pause, until } from './wait.ts';

const TOGETHER = 10;
/** Connections of each worker between two collections. */
const ROUND = 50;
const BROADCAST_INTERVAL_MS = 100;
const LEAVE_TIMEOUT_MS = 10_000;

/** @returns when they are gone and collected; does nothing for `warmUp: 0` */
export async function warmUp(context: RunContext): Promise<void> {
  const { config, control, collector, measurements, signal } = context;
  // Without a control port, nobody says how many workers there are; and a server that is not prepared sees no more than the load.
  const workers = control.size || 1;
  const count = control.size > 0 ? config.warmUp * workers : Math.min(config.warmUp, config.load.connections);
  if (count === 0) return;
  let failure: string | undefined;
  let made = 0;
  for (; made < count && failure === undefined && !signal.aborted; made += ROUND * workers) {
    const round = Math.min(ROUND * workers, count - made);
    failure = await comeAndGo(context, round).then(
      () => undefined,
      (error: Error) => error.message,
    );
    await collector.gc();
  }
  if (signal.aborted || failure === undefined) return;
  measurements.observations.note('warmUpFailed', { error: failure, connections: Math.min(made, count) });
}

/** @throws Error of the first that fails, when all have left */
async function comeAndGo(context: RunContext, count: number): Promise<void> {
  const { ledger, link, config, control, clients } = context;
  const before = connectionsOf(await control.stats());
  const done = new AbortController();
  const signal = AbortSignal.any([context.signal, done.signal]);
  const room = control.size > 0 ? roomOf(config.room) : undefined;
  const order = { connections: count, together: TOGETHER, room };
  const made = (ledger && !clients.areUsers ? link.warmUp(order) : warmUpAlone(context, order)).finally(() =>
    done.abort(),
  );
  // Both end before this rejects, even if one fails.
  const outcomes = await Promise.allSettled([made, broadcastUntil(context, signal)]);
  await gone(context, before);
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
}

/** For external engines, which cannot connect before the load, and where the server lets in users only: the run makes them itself. */
function warmUpAlone({ clients, signal }: RunContext, { connections, together, room }: WarmUpOrder): Promise<void> {
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

/** Each worker publishes; the members at that time receive them. */
async function broadcastUntil({ control, config }: RunContext, signal: AbortSignal): Promise<void> {
  if (control.size === 0) return;
  const { bytes, binary } = config.broadcasts;
  const order = { room: roomOf(config.room), bytes, ...(binary && { binary }) };
  for (let seq = 1; !signal.aborted; seq++) {
    await control.broadcast({ ...order, seq }, seq % control.size);
    await pause(BROADCAST_INTERVAL_MS, signal);
  }
}

async function gone(context: RunContext, before: number): Promise<void> {
  const haveLeft = async () => connectionsOf(await context.control.stats()) <= before;
  if (await until(haveLeft, LEAVE_TIMEOUT_MS, context.signal)) return;
  if (!context.signal.aborted) throw new Error(`they did not close within ${LEAVE_TIMEOUT_MS / 1000} s`);
}

function roomOf(room: string): string {
  return `${room}:warm-up`;
}
