/**
 * A Socket.IO server with the whole wire contract, through `instrument(io)`, that keeps a known amount of memory for
 * each connection and sends each receiver its copy of a broadcast after a known delay. It records the actual time:
 * timers fire late, and that delay is part of the truth, not an error of the measurement.
 */
import { createSecretKey, type KeyObject } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Server, type Socket } from 'socket.io';
import { monotonicUs } from '../../protocol/base/clock/clock.ts';
import { type Broadcast, EVENTS, type JoinRoom } from '../../protocol/wire/events.ts';
import { instrument } from '../../server/instrument.ts';
import { serve } from './known-process.ts';

export interface KnownServerConfig {
  token: string;
  /** Kept for each connection. */
  keep?: { kind: KeptKind; bytes: number };
  /** For each simulated worker, the shortest and longest delay of a copy. One entry: one worker, `w0`. */
  delaysMs?: [number, number][];
  /** Mean of a further delay of all copies of a broadcast; drawn for each broadcast, exponentially distributed. */
  sharedDelayMs?: number;
  /** Members of the room that each broadcast leaves out. */
  drop?: number;
  /** CPU time that each connection takes. */
  connectCpuUs?: number;
  /** CPU time that each connection takes per second, as long as it lives. */
  idleCpuUsPerSec?: number;
  /** CPU time that each copy of a broadcast takes. */
  copyCpuUs?: number;
  /** Allocated for each connection and not kept: garbage in V8's heap. */
  garbageBytes?: number;
  /** A Buffer for each copy of a broadcast, kept for so long after it. */
  perCopy?: { bytes: number; forMs: number };
}

/** A Buffer outside of V8's heap, an array of doubles in it, or native memory that V8 does not count. */
export type KeptKind = 'buffer' | 'heap' | 'native';

export interface KnownServerStarted {
  url: string;
  controlUrl: string;
}

/** A copy passed to its receiver's socket. */
export interface Copy {
  seq: number;
  worker: string;
  publisher: string;
  /** Time since the broadcast's `sentAtUs`. */
  afterUs: number;
}

export interface KnownServerTruth {
  copies: Copy[];
  dropped: number;
}

/** Adjacent members of the room get very different delays; all together cover the range evenly. */
const GOLDEN_RATIO = 0.618033988749895;

const KEPT: Record<KeptKind, (bytes: number) => unknown> = { buffer: bufferOf, heap: doublesOf, native: keyOf };
let keySource: Buffer | undefined;

const SPEND_EVERY_MS = 10;

await serve(nothing, async (config: KnownServerConfig, truth): Promise<KnownServerStarted> => {
  const {
    token,
    keep,
    delaysMs = [[0, 0]],
    drop = 0,
    sharedDelayMs = 0,
    connectCpuUs = 0,
    idleCpuUsPerSec = 0,
    copyCpuUs = 0,
    garbageBytes = 0,
    perCopy,
  } = config;
  const http = createServer();
  const io = new Server(http, { serveClient: false, perMessageDeflate: false });
  const workerOf = new Map<string, string>();

  io.on('connection', (socket) => {
    burn(connectCpuUs);
    if (garbageBytes > 0) doublesOf(garbageBytes);
    if (keep) socket.data.kept = KEPT[keep.kind](keep.bytes);
    socket.on(EVENTS.joinRoom, (asked: JoinRoom, ack?: (answer: object) => void) => {
      const room = typeof asked === 'string' ? asked : asked.clientKey;
      const worker = workerOf.get(socket.id) ?? `w${workerOf.size % delaysMs.length}`;
      workerOf.set(socket.id, worker);
      socket.join(room);
      ack?.({ room, worker, members: io.of('/').adapter.rooms.get(room)?.size });
    });
    socket.on('disconnect', () => workerOf.delete(socket.id));
  });
  if (idleCpuUsPerSec > 0) spend(() => idleCpuUsPerSec * io.engine.clientsCount);
  const { controlPort } = await instrument(io, { token, worker: 'w0' });

  const hand = (socket: Socket, message: Broadcast) => {
    if (!socket.connected) return;
    if (copyCpuUs > 0) burn(copyCpuUs);
    if (!isProbe(socket)) {
      const worker = workerOf.get(socket.id) as string;
      const afterUs = monotonicUs() - message.sentAtUs;
      truth().copies.push({ seq: message.seq, worker, publisher: message.worker, afterUs });
    }
    if (perCopy) {
      const buffer = bufferOf(perCopy.bytes);
      setTimeout(() => buffer.length, perCopy.forMs);
    }
    socket.emit(EVENTS.broadcast, message);
  };
  const { adapter } = io.of('/');
  adapter.broadcast = (packet, { rooms }) => {
    const message = packet.data[1] as Broadcast;
    const members = [...rooms].flatMap((room) => [...(adapter.rooms.get(room) ?? [])]);
    const sharedMs = -sharedDelayMs * Math.log(1 - Math.random());
    let toDrop = drop;
    for (const [index, id] of members.entries()) {
      const socket = io.sockets.sockets.get(id);
      if (!socket) continue;
      if (toDrop > 0 && !isProbe(socket)) {
        toDrop--;
        truth().dropped++;
        continue;
      }
      const [low, high] = delaysMs[Number(workerOf.get(id)?.slice(1))] ?? [0, 0];
      const delayMs = low + (high - low) * (((index + message.seq) * GOLDEN_RATIO) % 1);
      const waitMs = sharedMs + delayMs;
      if (waitMs === 0) hand(socket, message);
      else setTimeout(hand, waitMs, socket, message);
    }
  };

  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const { port } = http.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, controlUrl: `http://127.0.0.1:${controlPort}` };
});

function nothing(): KnownServerTruth {
  return { copies: [], dropped: 0 };
}

/** In this process, all threads together, as the kernel counts it. */
function burn(us: number): void {
  const begin = process.cpuUsage();
  for (;;) {
    const { user, system } = process.cpuUsage(begin);
    if (user + system >= us) return;
  }
}

/** A late timer takes what the earlier ones would have taken. */
function spend(usPerSec: () => number): void {
  let atMs = performance.now();
  setInterval(() => {
    const nowMs = performance.now();
    burn((usPerSec() * (nowMs - atMs)) / 1000);
    atMs = nowMs;
  }, SPEND_EVERY_MS);
}

/** Writes to every memory page: untouched ones cost nothing. */
function bufferOf(bytes: number): Buffer {
  return Buffer.alloc(bytes, 1);
}

/** OpenSSL allocates a key's bytes by malloc, which V8 does not count. All copies have one source, so no garbage remains. */
function keyOf(bytes: number): KeyObject {
  keySource ??= Buffer.alloc(bytes, 1);
  return createSecretKey(keySource);
}

/** V8 keeps doubles unboxed, eight bytes each. */
function doublesOf(bytes: number): number[] {
  return new Array<number>(bytes / 8).fill(0.5);
}

/** The run's own receivers keep no ledger, and are or have been in separate rooms. */
function isProbe(socket: Socket): boolean {
  return [...socket.rooms].some((room) => /:(single|warm-up)$/.test(room));
}
