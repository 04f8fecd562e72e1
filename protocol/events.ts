/**
 * The wire contract between the load generator and a Socket.IO server. A server that keeps it (ours, or any other with
 * `instrument(io)`) can be measured completely. The meaning of each field is fixed, because people script against it.
 */

import type { ErrorCode } from './codes/error-codes.ts';
import type { Cgroup } from './machine/cgroup.ts';
import type { Host } from './machine/host.ts';
import type { CpuReading } from './machine/kernel.ts';
import type { ServerDescription } from './result/server.ts';

/** For the reference: direction and content of each event. */
export const EVENT_HELP: Record<keyof typeof EVENTS, string> = {
  joinRoom:
    'from a client: a room, or `{clientKey: room}`; acknowledged by `{room, worker, members}`, or `{error, code, fix}` (`JOIN_REFUSED`)',
  broadcast: 'to the members: `{seq, sentAtUs, worker, data}`, in this order',
  broadcastEcho: 'from the probe: `{seq, sentAtUs, data}` back; acknowledged by `{seq, roundTripUs}`',
  eventBatch: 'from a client: a list of events, or one; acknowledged by `{events}`, their number',
};

/** Events of the measured namespace. */
export const EVENTS = {
  joinRoom: 'join_room',
  broadcast: 'broadcast',
  broadcastEcho: 'broadcast_echo',
  eventBatch: 'event_batch',
} as const;

/** Namespace of the control messages. It requires a token and has its own port, which no proxy forwards. */
export const CONTROL_NAMESPACE = '/capacity';

/** Client to server: the room itself, or the Techracers study's object that names it. */
export type JoinRoom = string | { clientKey: string };

/** Acknowledgement of `join_room`. */
export interface Joined {
  room: string;
  /** Worker that holds the connection. */
  worker: string;
  /** Members of the room on that worker, this connection included. */
  members: number;
}

/** Answer to a message of a client that the server does not accept. */
export interface Refusal {
  error: string;
  /** `JOIN_REFUSED` in answer to `join_room`. */
  code?: ErrorCode | undefined;
  fix?: string | undefined;
}

/**
 * Server to every member of a room. `seq` and `sentAtUs` stand first in the JSON, in this order, so that a receiver
 * can read them from the raw bytes without parsing the payload.
 */
export interface Broadcast {
  /** Counts from 1 in each run. */
  seq: number;
  /** The server's CLOCK_MONOTONIC, in microseconds, when it handed the broadcast to Socket.IO. */
  sentAtUs: number;
  /** Worker that published it. */
  worker: string;
  /** Text; bytes, which Socket.IO sends as an attachment, if the order asks for them. */
  data: string | Uint8Array;
}

/** Whether a decoded value can be read as a broadcast: all but `data`, which may be missing or anything else. */
export function isBroadcast(value: unknown): value is Omit<Broadcast, 'data'> & { data?: unknown } {
  const { seq, sentAtUs, worker } = (value ?? {}) as Partial<Broadcast>;
  return typeof seq === 'number' && typeof sentAtUs === 'number' && typeof worker === 'string';
}

/** Probe to server: the broadcast as received; and the server's acknowledgement. */
export type BroadcastEcho = Pick<Broadcast, 'seq' | 'sentAtUs' | 'data'>;
export interface EchoTimed {
  seq: number;
  /**
   * Server clock at the echo's arrival less `sentAtUs`. Half of it is the Techracers study's propagation delay. Where
   * another host's worker published, the difference of the two clocks is in it.
   */
  roundTripUs: number;
}

/** Acknowledgement of `event_batch`, a list of any number of events, or a single one. */
export interface BatchReceived {
  events: number;
}

/** Control: what a worker did with the batches of events, since the previous request for it. */
export interface WorkerBatches {
  worker: string;
  batches: number;
  /** Left to the server's own handler. */
  ownHandler: number;
  events: number;
  /** From the call of the handler until it has acknowledged; null without any batch. */
  handlerMs: { p50: number; p95: number; max: number } | null;
  /** How long whatever arrived waited for the event loop. */
  eventLoop: WorkerStats['eventLoop'];
}

/** Control: a worker's event loop over time, from the request that began it to the one that ended it. */
export interface WorkerEventLoop {
  worker: string;
  /** Ends of the intervals, in seconds since the beginning; they become longer as the time does. */
  seconds: number[];
  /** The highest of each interval's seconds. */
  delayP99Ms: number[];
  delayMaxMs: number[];
}

/** Far more than a Socket.IO client accepts in one message; it only keeps a typing error from using up the memory. */
export const MAX_BROADCAST_BYTES = 10_000_000;

/** Control: request to publish one broadcast to `room`, of `bytes` characters or, if `binary`, bytes. */
export interface BroadcastOrder {
  room: string;
  bytes: number;
  binary?: boolean;
  seq: number;
  /** Send at this time of the server's monotonic clock, at most a second ahead; by default immediately. */
  atUs?: number;
  /** False: send without counting the members, while workers come and go and cannot be asked. */
  count?: false;
}
export interface BroadcastSent {
  seq: number;
  sentAtUs: number;
  worker: string;
  /** Members of the room on all workers, counted just before sending; null if they were not to be counted. */
  expected: number | null;
  /** How many other workers have any of them; undefined if they were not to be counted. */
  otherWorkers?: number;
}

/** Control: a worker's statistics. Memory in bytes, after a `gc` if one was requested. */
export interface WorkerStats {
  worker: string;
  /** Another one each time `instrument(io)` is called: names and process ids repeat. */
  instance: string;
  /** Version of the package that answers. */
  version: string;
  pid: number;
  host: Host;
  uptimeSeconds: number;
  /** Connections of the measured namespaces (Engine.IO clients without those of the control namespace). */
  connections: number;
  /** Those that it has accepted so far, also the ones that have ended. */
  accepted: number;
  rooms: number;
  broadcasts: number;
  rssBytes: number;
  heapUsedBytes: number;
  /** V8's `external`, which includes ArrayBuffers. */
  externalBytes: number;
  cpuUserUs: number;
  cpuSystemUs: number;
  /** Since the previous `stats`. */
  eventLoop: { utilization: number; delayP50Ms: number; delayP99Ms: number; delayMaxMs: number };
  versions: { node: string; socketIo: string; adapter: string; webSocketEngine: string };
  /** Complete garbage collections of the process so far, ordered or not. */
  collections: number;
  server: ServerDescription;
  /** Key of the Redis stream that its adapter writes to, if it does. */
  stream?: string | undefined;
}

/** Control: what a worker's process has and may use, and its machine. What its system does not tell is missing. */
export interface WorkerResources {
  worker: string;
  /** Proportional set size. */
  pssBytes?: number | undefined;
  /** Files and sockets that it has open. */
  openFiles?: number | undefined;
  /** How many it can have open; null without a limit. */
  openFilesLimit: number | null;
  cgroup: Cgroup;
  /** That it can use: CPUs, or what a quota allows. */
  usableCores: number;
  machine: WorkerMachine;
}

/** As the worker's process sees it; a container sees the machine that it runs on. */
export interface WorkerMachine {
  hostname: string;
  /** As in `Host`: the machine of two workers is the same if their kernel is. */
  kernel: string;
  cores: number;
  memoryBytes: number;
  /** Neither free nor in caches that the kernel can drop. */
  usedBytes?: number | undefined;
  /** TCP buffers in all containers. */
  tcpBytes?: number | undefined;
  /** All its cores, since boot. */
  cpu?: CpuReading | undefined;
}

/** A control request's reply: the value, or the error. A server of another version can send unknown codes. */
export type ControlReply<T> = { ok: true; value: T } | { ok: false; code: ErrorCode; message: string };

export interface ControlToServerEvents {
  broadcast: (order: BroadcastOrder, reply: (sent: ControlReply<BroadcastSent>) => void) => void;
  /** Members of the room on all workers. */
  members: (room: string, reply: (members: ControlReply<{ worker: string; members: number }>) => void) => void;
  /** Servers that its cluster adapter counts, itself included. */
  servers: (reply: (servers: ControlReply<{ worker: string; servers: number }>) => void) => void;
  /** Forces a full garbage collection; replies when it is done. */
  gc: (reply: (done: ControlReply<{ worker: string; durationMs: number }>) => void) => void;
  stats: (reply: (stats: ControlReply<WorkerStats>) => void) => void;
  /** Takes some milliseconds: more, the more memory and connections the worker has. */
  resources: (reply: (resources: ControlReply<WorkerResources>) => void) => void;
  /** Statistics of the batches, and begins the next ones. */
  batches: (reply: (batches: ControlReply<WorkerBatches>) => void) => void;
  /** Begins to record the event loop, or ends it; the reply has what was recorded until then. */
  eventLoop: (record: boolean, reply: (recorded: ControlReply<WorkerEventLoop>) => void) => void;
  /** The server's clock, for estimating the offset between two hosts. */
  time: (reply: (time: ControlReply<{ monotonicUs: number }>) => void) => void;
}
