/**
 * The wire contract between the load generator and a Socket.IO server. A server that implements it (the bundled one, or any with
 * `instrument(io)`) can be measured completely. The meaning of each field is fixed, because scripts depend on it.
 */

import type { ErrorCode } from '../codes/error-codes.ts';

export type * from './control-replies.ts';

/** Direction and content of each event, for the reference. */
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

/** Namespace of the control messages. It requires a token, and has its own port, which proxies do not forward. */
export const CONTROL_NAMESPACE = '/capacity';

/** Client to server: the room, or the object of the Techracers study that contains it. */
export type JoinRoom = string | { clientKey: string };

/** Acknowledgement of `join_room`. */
export interface Joined {
  room: string;
  /** Worker that holds the connection. */
  worker: string;
  /** Members of the room on that worker, this connection included. */
  members: number;
}

/** Reply to a client's message that the server rejects. */
export interface Refusal {
  error: string;
  /** `JOIN_REFUSED` in answer to `join_room`. */
  code?: ErrorCode | undefined;
  fix?: string | undefined;
}

/**
 * Server to every member of a room. `seq` and `sentAtUs` come first in the JSON, in this order, so that receivers can read them from the
 * raw bytes without parsing the payload.
 */
export interface Broadcast {
  /** Counts from 1 in each run. */
  seq: number;
  /** The server's CLOCK_MONOTONIC, in microseconds, when it handed the broadcast to Socket.IO. */
  sentAtUs: number;
  /** Worker that published it. */
  worker: string;
  /** Text, or bytes if the order is `binary`, which Socket.IO sends as an attachment. */
  data: string | Uint8Array;
}

/** Returns whether a decoded value is a broadcast; ignores `data`, which may be missing or anything. */
export function isBroadcast(value: unknown): value is Omit<Broadcast, 'data'> & { data?: unknown } {
  const { seq, sentAtUs, worker } = (value ?? {}) as Partial<Broadcast>;
  return typeof seq === 'number' && typeof sentAtUs === 'number' && typeof worker === 'string';
}

/** Probe to server: the received broadcast, which the server acknowledges with `EchoTimed`. */
export type BroadcastEcho = Pick<Broadcast, 'seq' | 'sentAtUs' | 'data'>;
export interface EchoTimed {
  seq: number;
  /**
   * Arrival of the echo on the server's clock less `sentAtUs`; half of it is the Techracers study's propagation delay. Includes the
   * difference of the clocks if a worker on another host published.
   */
  roundTripUs: number;
}

/** Acknowledgement of `event_batch`, a list of any number of events, or a single one. */
export interface BatchReceived {
  events: number;
}

/** Limit far above what a Socket.IO client accepts; only protects memory from typing errors. */
export const MAX_BROADCAST_BYTES = 10_000_000;

/** Control: request to publish a broadcast to `room`, of `bytes` characters or, if `binary`, bytes. */
export interface BroadcastOrder {
  room: string;
  bytes: number;
  binary?: boolean;
  seq: number;
  /** Send time on the server's monotonic clock, at most a second ahead; by default immediately. */
  atUs?: number;
  /** False to send without counting the members, while workers restart and cannot answer. */
  count?: false;
}

/** Reply to a control request: the value, or the error. A server of another version can send unknown codes. */
export type ControlReply<T> = { ok: true; value: T } | { ok: false; code: ErrorCode; message: string };
