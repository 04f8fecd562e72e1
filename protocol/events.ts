/**
 * The wire contract between the load generator and a Socket.IO server. A server that keeps it (ours, or any other with
 * `instrument(io)`) can be measured completely. The meaning of each field is fixed, because people script against it.
 */

import type { ErrorCode } from './codes/error-codes.ts';
import type { Host } from './host.ts';
import type { ServerDescription } from './result/server.ts';

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
  data: string;
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

/** Client to server: any number of events at once, or a single one; the acknowledgement says how many were received. */
export type EventBatch = unknown[] | unknown;
export interface BatchReceived {
  events: number;
}

/** Control: what a worker did with the batches of events, since the previous request for it. */
export interface WorkerBatches {
  worker: string;
  batches: number;
  events: number;
  /** From the call of the handler until it has acknowledged; null without any batch. */
  handlerMs: { p50: number; p95: number; max: number } | null;
  /** How long whatever arrived waited for the event loop. */
  eventLoop: WorkerStats['eventLoop'];
}

/** Control: request to publish one broadcast of `bytes` characters to `room`. */
export interface BroadcastOrder {
  room: string;
  bytes: number;
  seq: number;
  /** Send at this time of the server's monotonic clock, at most a second ahead; by default immediately. */
  atUs?: number;
}
export interface BroadcastSent {
  seq: number;
  sentAtUs: number;
  worker: string;
  /** Members of the room on all workers, counted just before sending. */
  expected: number;
}

/** Control: a worker's statistics. Memory in bytes, after a `gc` if one was requested. */
export interface WorkerStats {
  worker: string;
  pid: number;
  host: Host;
  uptimeSeconds: number;
  /** Connections of the measured namespaces (Engine.IO clients without those of the control namespace). */
  connections: number;
  rooms: number;
  broadcasts: number;
  rssBytes: number;
  heapUsedBytes: number;
  heapTotalBytes: number;
  /** V8's `external`, which includes ArrayBuffers. */
  externalBytes: number;
  arrayBuffersBytes: number;
  cpuUserUs: number;
  cpuSystemUs: number;
  /** Since the previous `stats`. */
  eventLoop: { utilization: number; delayP50Ms: number; delayP99Ms: number; delayMaxMs: number };
  versions: { node: string; socketIo: string; adapter: string; webSocketEngine: string };
  /** Complete garbage collections of the process so far, ordered or not. Older versions do not count them. */
  collections?: number;
  /** Older versions do not describe it. */
  server?: ServerDescription;
}

/** A control request's reply: the value, or the error. A server of another version can send unknown codes. */
export type ControlReply<T> = { ok: true; value: T } | { ok: false; code: ErrorCode; message: string };

export interface ControlToServerEvents {
  broadcast: (order: BroadcastOrder, reply: (sent: ControlReply<BroadcastSent>) => void) => void;
  /** Members of the room on all workers. */
  members: (room: string, reply: (members: ControlReply<{ worker: string; members: number }>) => void) => void;
  /** Forces a full garbage collection; replies when it is done. */
  gc: (reply: (done: ControlReply<{ worker: string; durationMs: number }>) => void) => void;
  stats: (reply: (stats: ControlReply<WorkerStats>) => void) => void;
  /** Statistics of the batches, and begins the next ones. Older versions have no such request. */
  batches: (reply: (batches: ControlReply<WorkerBatches>) => void) => void;
  /** The server's clock, for estimating the offset between two hosts. */
  time: (reply: (time: ControlReply<{ monotonicUs: number }>) => void) => void;
}
