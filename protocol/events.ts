/**
 * The wire contract between the load generator and a Socket.IO server. A server that keeps it (ours, or any other
 * through `instrument(io)`) can be measured completely; the meaning of each field is fixed, because people script it.
 */

import type { ErrorCode } from './error-codes.ts';
import type { Host } from './host.ts';

/** Events of the measured namespace. */
export const EVENTS = {
  joinRoom: 'join_room',
  broadcast: 'broadcast',
  broadcastEcho: 'broadcast_echo',
} as const;

/** Namespace of the control messages. It asks for a token and is served on a port of its own, which no proxy forwards. */
export const CONTROL_NAMESPACE = '/capacity';

/** Client to server: the room itself, or the Techracers study's object that names it. */
export type JoinRoom = string | { clientKey: string };

/** Answer to `join_room`, when an acknowledgement is asked for. */
export interface Joined {
  room: string;
  /** Worker that holds the connection. */
  worker: string;
  /** Members of the room on that worker, this connection included. */
  members: number;
}

/**
 * Server to every member of a room. `seq` and `sentAtUs` stand first in the JSON, in this order, so that a receiver
 * can read them from the raw bytes without parsing the payload.
 */
export interface Broadcast {
  /** Counts up per run, from 1. */
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

/** Probe to server: the broadcast as received; and what the server answers. */
export type BroadcastEcho = Pick<Broadcast, 'seq' | 'sentAtUs' | 'data'>;
export interface EchoTimed {
  seq: number;
  /**
   * Server clock at the echo's arrival less `sentAtUs`. Half of it is the Techracers study's propagation delay. Where another
   * host's worker published, the difference of the two clocks is in it.
   */
  roundTripUs: number;
}

export interface ClientToServerEvents {
  join_room: (room: JoinRoom, ack?: (joined: Joined) => void) => void;
  broadcast_echo: (echo: BroadcastEcho, ack?: (timed: EchoTimed) => void) => void;
}

export interface ServerToClientEvents {
  broadcast: (message: Broadcast) => void;
}

/** Control: publish one broadcast of `bytes` characters to `room`. */
export interface BroadcastOrder {
  room: string;
  bytes: number;
  seq: number;
  /** Send at this time of the server's monotonic clock, at most a second ahead; without it at once. */
  atUs?: number;
}
export interface BroadcastSent {
  seq: number;
  sentAtUs: number;
  worker: string;
  /** Members of the room on all workers, counted just before sending. */
  expected: number;
}

/** Control: what one worker knows of itself. Memory in bytes, after a `gc` if one was ordered. */
export interface WorkerStats {
  worker: string;
  pid: number;
  host: Host;
  uptimeSeconds: number;
  /** Connections of the measured namespaces (Engine.IO clients less the control namespace's). */
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
}

/** A control request's answer: the value, or why not. The code of a server of another version may be none of ours. */
export type ControlReply<T> = { ok: true; value: T } | { ok: false; code: ErrorCode; message: string };

export interface ControlToServerEvents {
  broadcast: (order: BroadcastOrder, reply: (sent: ControlReply<BroadcastSent>) => void) => void;
  /** Members of the room on all workers. */
  members: (room: string, reply: (members: ControlReply<{ worker: string; members: number }>) => void) => void;
  /** Forces a full collection; answers when it is done. */
  gc: (reply: (done: ControlReply<{ worker: string; durationMs: number }>) => void) => void;
  stats: (reply: (stats: ControlReply<WorkerStats>) => void) => void;
  /** The server's clock, for estimating the offset between two hosts. */
  time: (reply: (time: ControlReply<{ monotonicUs: number }>) => void) => void;
}
