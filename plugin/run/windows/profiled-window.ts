/**
 * Profiles the server's CPU use per connect and per copy. It runs after all measurements, with clients of the run
 * instead of the load, because the profiler itself uses CPU.
 */
import { mapLimit } from '../../../protocol/base/map-limit.ts';
import { CONTRACT_EVENTS } from '../../../protocol/wire/events.ts';
import type { RunContext } from '../context.ts';
import type { CpuProfiled } from '../measurements/measurements.ts';
import { connectClient } from '../receivers/connect-client.ts';
import { joinRoom } from '../receivers/join-room.ts';
import type { RunSocket } from '../receivers/run-connection.ts';
import { abortablePause, pollUntil } from '../wait.ts';

const MAX_CONNECTIONS = 200;
const CONCURRENCY = 10;
/** Number of copies to profile. It is enough to show functions that take 1 % of the time of a copy. */
const COPIES = 20_000;
const PUBLISH_MS = 5000;
const INTERVAL_MS = 50;
const RECEIVE_TIMEOUT_MS = 5000;

/**
 * Profiles the server's CPU use. If that fails, stores the error in place of the profiles, because no other figure
 * depends on them.
 */
export async function profileCpu(context: RunContext): Promise<void> {
  const { profiler, measurements, config, sampler, signal } = context;
  if (!profiler || signal.aborted || config.overTime || config.fault) return;
  // The sampler's time series must end with the load.
  await sampler.close();
  const sockets: RunSocket[] = [];
  const profiled: CpuProfiled = {};
  measurements.cpuProfiles = profiled;
  try {
    await profiler.startProfiles('cpu');
    const count = Math.min(MAX_CONNECTIONS, config.load.connections);
    await mapLimit(count, CONCURRENCY, async () => void sockets.push(await connectAndJoin(context)));
    profiled.connect = { profiles: await profiler.takeProfiles(), units: sockets.length };
    const source = sourceOf(context, sockets);
    await profiler.startProfiles('cpu');
    const units = await broadcast(source, signal);
    const profiles = await profiler.takeProfiles();
    if (units === 0) throw new Error('no broadcast arrived during the profile');
    profiled.copy = { profiles, units };
  } catch (error) {
    profiled.failure = error as Error;
  } finally {
    await Promise.all(sockets.map((socket) => socket.disconnect()));
  }
}

/** Connects a client with the same options as the load, and joins a room. */
async function connectAndJoin({ clients, control, config, signal }: RunContext): Promise<RunSocket> {
  const { socket } = await connectClient(config.delivery ? clients.nextReceiver() : clients.nextTemporary(), signal);
  if (control.size > 0) await joinRoom(socket, roomOf(config.room));
  return socket;
}

interface Source {
  event: string;
  receivers: RunSocket[];
  /**
   * Publishes a broadcast; undefined if the server broadcasts by itself.
   * @param index number of the broadcast, from 0
   */
  send: ((index: number) => unknown) | undefined;
}

/**
 * Returns how to make the server broadcast.
 * @throws Error if the run cannot make the server broadcast to these connections
 */
function sourceOf({ config, control, publishers }: RunContext, sockets: RunSocket[]): Source {
  const { delivery, broadcasts } = config;
  if (control.size > 0) {
    const { bytes, binary } = broadcasts;
    const order = { room: roomOf(config.room), bytes, ...(binary && { binary }) };
    const send = (index: number) => control.broadcast({ ...order, seq: index + 1 }, index % control.size);
    return { event: CONTRACT_EVENTS.broadcast, receivers: sockets, send };
  }
  if (!delivery) throw new Error('it requires the option `delivery`');
  if (publishers?.givesRooms) throw new Error('`delivery` broadcasts only to rooms of the load');
  const publishing = publishers?.clients ?? [];
  const send = (index: number) =>
    publishing
      .slice(index % publishing.length)
      .find((client) => publishers?.publishTrial(client, '', false, `cpu-${index}`));
  const receivers = [...sockets, ...publishing.map(({ socket }) => socket)];
  return { event: delivery.event, receivers, send: publishers && send };
}

/**
 * Publishes until the server has sent enough copies or the time limit has passed.
 * @returns the number of copies that arrived
 */
async function broadcast({ event, receivers, send }: Source, signal: AbortSignal): Promise<number> {
  let copies = 0;
  const stops = receivers.map((socket) =>
    socket.on(event, () => {
      copies++;
    }),
  );
  const endMs = performance.now() + PUBLISH_MS;
  let sent = 0;
  while (sent * receivers.length < COPIES && performance.now() < endMs && !signal.aborted) {
    await send?.(sent++);
    await abortablePause(INTERVAL_MS, signal);
  }
  await pollUntil(() => copies >= sent * receivers.length, send ? RECEIVE_TIMEOUT_MS : 0, signal);
  for (const stop of stops) stop();
  return copies;
}

function roomOf(room: string): string {
  return `${room}:profile`;
}
