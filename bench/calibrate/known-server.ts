/**
 * A Socket.IO server with the wire contract, by `instrument(io)`. It keeps a known amount of memory per connection and
 * delays each copy of a broadcast by a known time. It records the actual delays, because timers fire late.
 */
import { createSecretKey, type KeyObject } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Server, type Socket } from 'socket.io';
import { monotonicUs } from '../../protocol/base/clock/clock.ts';
import { type BroadcastMessage, CONTRACT_EVENTS, type JoinRoomMessage } from '../../protocol/wire/events.ts';
import { instrument } from '../../server/instrument.ts';
import { serveKnownProcess } from './known-process.ts';

export interface KnownServerConfig {
  token: string;
  /** Memory that is kept for each connection. */
  keep?: { kind: KeptKind; bytes: number };
  /** Minimum and maximum delay of a copy, for each simulated worker. A single entry simulates the worker `w0`. */
  delaysMs?: [number, number][];
  /** Mean of an additional delay that all copies of a broadcast share. It has an exponential distribution. */
  sharedDelayMs?: number;
  /** CPU time per connect. */
  connectCpuUs?: number;
  /** CPU time per open connection and second. */
  idleCpuUsPerSec?: number;
  /** CPU time per copy of a broadcast. */
  copyCpuUs?: number;
  /** Bytes of garbage in V8's heap that each connect allocates and drops. */
  garbageBytes?: number;
  /** Whether each connection keeps arrays of 2, 8 and 32 KB, allocated by three different functions. */
  keepsByPlace?: boolean;
  /** Buffer that each copy of a broadcast allocates and keeps for `forMs`. */
  perCopy?: { bytes: number; forMs: number };
}

/**
 * Kind of kept memory: a Buffer outside V8's heap, an array of doubles in it, or native memory that V8 does not count.
 */
type KeptKind = 'buffer' | 'heap' | 'native';

export interface KnownServerStarted {
  url: string;
  controlUrl: string;
}

/** Copy of a broadcast that was passed to the socket of its receiver. */
export interface SentCopy {
  seq: number;
  worker: string;
  publisher: string;
  /** Time from the broadcast's `sentAtUs` to the copy. */
  afterUs: number;
}

export interface KnownServerTruth {
  copies: SentCopy[];
}

/**
 * Step of the delays. Neighbouring members get very different delays, and all members together cover the range evenly.
 */
const GOLDEN_RATIO = 0.618033988749895;

const ALLOCATE: Record<KeptKind, (bytes: number) => unknown> = { buffer: bufferOf, heap: doublesOf, native: keyOf };
let keySource: Buffer | undefined;

const SPEND_EVERY_MS = 10;
const BURN_STEPS = 100_000;
let owedCpuUs = 0;

await serveKnownProcess(nothing, async (config: KnownServerConfig, truth): Promise<KnownServerStarted> => {
  const {
    token,
    keep,
    delaysMs = [[0, 0]],
    sharedDelayMs = 0,
    connectCpuUs = 0,
    idleCpuUsPerSec = 0,
    copyCpuUs = 0,
    garbageBytes = 0,
    perCopy,
    keepsByPlace = false,
  } = config;
  const http = createServer();
  const io = new Server(http, { serveClient: false, perMessageDeflate: false });
  const workerOf = new Map<string, string>();

  io.on('connection', (socket) => {
    burn(connectCpuUs);
    if (garbageBytes > 0) doublesOf(garbageBytes);
    if (keepsByPlace) socket.data.places = [keep2(), keep8(), keep32()];
    if (keep) socket.data.kept = ALLOCATE[keep.kind](keep.bytes);
    socket.on(CONTRACT_EVENTS.joinRoom, (request: JoinRoomMessage, ack?: (answer: object) => void) => {
      const room = typeof request === 'string' ? request : request.clientKey;
      const worker = workerOf.get(socket.id) ?? `w${workerOf.size % delaysMs.length}`;
      workerOf.set(socket.id, worker);
      socket.join(room);
      ack?.({ room, worker, members: io.of('/').adapter.rooms.get(room)?.size });
    });
    socket.on('disconnect', () => workerOf.delete(socket.id));
  });
  if (idleCpuUsPerSec > 0) spend(() => idleCpuUsPerSec * io.engine.clientsCount);
  const { controlPort } = await instrument(io, { token, worker: 'w0', profile: true });

  const deliver = (socket: Socket, message: BroadcastMessage) => {
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
    socket.emit(CONTRACT_EVENTS.broadcast, message);
  };
  const { adapter } = io.of('/');
  adapter.broadcast = (packet, { rooms }) => {
    const message = packet.data[1] as BroadcastMessage;
    const members = [...rooms].flatMap((room) => [...(adapter.rooms.get(room) ?? [])]);
    const sharedMs = -sharedDelayMs * Math.log(1 - Math.random());
    for (const [index, id] of members.entries()) {
      const socket = io.sockets.sockets.get(id);
      if (!socket) continue;
      const [low, high] = delaysMs[Number(workerOf.get(id)?.slice(1))] ?? [0, 0];
      const delayMs = low + (high - low) * (((index + message.seq) * GOLDEN_RATIO) % 1);
      const waitMs = sharedMs + delayMs;
      if (waitMs === 0) deliver(socket, message);
      else setTimeout(deliver, waitMs, socket, message);
    }
  };

  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const { port } = http.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, controlUrl: `http://127.0.0.1:${controlPort}` };
});

function nothing(): KnownServerTruth {
  return { copies: [] };
}

/**
 * Spends CPU time of this thread, as counted by the kernel. What a call spends too much is deducted from the next ones, so that the sum is
 * exact.
 */
function burn(us: number): void {
  owedCpuUs += us;
  for (let [lastUs, sum] = [owedCpuUs > 0 ? threadUs() : 0, 0]; owedCpuUs > 0 && sum >= 0; ) {
    // A step is long enough that reading the clock takes only a small share of the time.
    for (let step = 0; step < BURN_STEPS; step++) sum += Math.sqrt(step);
    const nowUs = threadUs();
    owedCpuUs -= nowUs - lastUs;
    lastUs = nowUs;
  }
}

/** Reading the process's time first makes the kernel update its count of the thread, which is otherwise up to 4 ms old. */
function threadUs(): number {
  process.cpuUsage();
  const { user, system } = process.threadCpuUsage();
  return user + system;
}

/** Uses CPU time continuously. After a late timer, the missed time is added. */
function spend(usPerSec: () => number): void {
  let atMs = performance.now();
  setInterval(() => {
    const nowMs = performance.now();
    burn((usPerSec() * (nowMs - atMs)) / 1000);
    atMs = nowMs;
  }, SPEND_EVERY_MS);
}

/** Allocates a Buffer and writes to all of its pages. Untouched pages would take no memory. */
function bufferOf(bytes: number): Buffer {
  return Buffer.alloc(bytes, 1);
}

/**
 * Allocates an OpenSSL key. Its bytes come from malloc, which V8 does not count. All keys share one source buffer, so
 * no garbage remains.
 */
function keyOf(bytes: number): KeyObject {
  keySource ??= Buffer.alloc(bytes, 1);
  return createSecretKey(keySource);
}

function keep2(): number[] {
  return new Array<number>(2 * 128).fill(0.5);
}

function keep8(): number[] {
  return new Array<number>(8 * 128).fill(0.5);
}

function keep32(): number[] {
  return new Array<number>(32 * 128).fill(0.5);
}

/** Allocates an array of doubles. V8 stores each in eight bytes. */
function doublesOf(bytes: number): number[] {
  return new Array<number>(bytes / 8).fill(0.5);
}

/** Returns whether a socket is one of the run's own receivers. They have no ledger and join separate rooms. */
function isProbe(socket: Socket): boolean {
  return [...socket.rooms].some((room) => /:(single|warm-up)$/.test(room));
}
