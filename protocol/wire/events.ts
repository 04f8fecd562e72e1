/**
 * Wire contract between the load generator and a Socket.IO server. A server that implements the contract can be
 * measured completely. The bundled server implements it, and every server with `instrument(io)`. The meaning of each
 * field is fixed, because scripts depend on it.
 */

import type { ErrorCode } from '../codes/error-codes.ts';

export type * from './control-replies.ts';

/** Direction and content of each event, for the reference documentation. */
export const CONTRACT_EVENT_HELP: Record<keyof typeof CONTRACT_EVENTS, string> = {
  joinRoom:
    'from a client: a room, or `{clientKey: room}`; acknowledged by `{room, worker, members}`, or `{error, code, fix}` (`JOIN_REFUSED`)',
  broadcast: 'to the members: `{seq, sentAtUs, worker, data}`, in this order',
  broadcastEcho: 'from the probe: `{seq, sentAtUs, data}` back; acknowledged by `{seq, roundTripUs}`',
  eventBatch: 'from a client: a list of events, or one; acknowledged by `{events}`, their number',
};

/** Names of the events in the measured namespace. */
export const CONTRACT_EVENTS = {
  joinRoom: 'join_room',
  broadcast: 'broadcast',
  broadcastEcho: 'broadcast_echo',
  eventBatch: 'event_batch',
} as const;

/** Namespace of control messages. It requires a token, and has its own port that proxies do not forward. */
export const CONTROL_NAMESPACE = '/capacity';

/** Request to join a room: its name, or an object with the name as in the Techracers study. */
export type JoinRoomMessage = string | { clientKey: string };

/** Data with which a worker acknowledges `join_room`. */
export interface JoinAck {
  room: string;
  /** Worker that has the connection. */
  worker: string;
  /** Number of members of the room on that worker, including this connection. */
  members: number;
}

/** Reply to a client's message that the server rejects. */
export interface MessageRefusal {
  error: string;
  /** Code of the error. It is `JOIN_REFUSED` for a rejected `join_room`. */
  code?: ErrorCode | undefined;
  fix?: string | undefined;
}

/**
 * Broadcast to all members of a room. `seq` and `sentAtUs` come first in the JSON, in this order, so that receivers can
 * read them from the raw bytes without parsing the payload.
 */
export interface BroadcastMessage {
  /** Number of the broadcast, from 1 in each run. */
  seq: number;
  /** CLOCK_MONOTONIC of the server in microseconds, when it passed the broadcast to Socket.IO. */
  sentAtUs: number;
  /** Worker that published the broadcast. */
  worker: string;
  /** Text, or bytes for a binary broadcast. Socket.IO sends bytes as an attachment. */
  data: string | Uint8Array;
}

/** Returns whether a decoded value is a broadcast. The field `data` is not checked. */
export function isBroadcastMessage(value: unknown): value is Omit<BroadcastMessage, 'data'> & { data?: unknown } {
  const { seq, sentAtUs, worker } = (value ?? {}) as Partial<BroadcastMessage>;
  return typeof seq === 'number' && typeof sentAtUs === 'number' && typeof worker === 'string';
}

/** Broadcast that the probe sends back to the server. The server acknowledges it with `EchoAck`. */
export type BroadcastEcho = Pick<BroadcastMessage, 'seq' | 'sentAtUs' | 'data'>;
export interface EchoAck {
  seq: number;
  /**
   * Time at which the echo arrived on the server's clock, minus `sentAtUs`. Half of it is the propagation delay of the
   * Techracers study. It includes the clock difference if a worker on another host published the broadcast.
   */
  roundTripUs: number;
}

/** Acknowledgement of `event_batch`, which contains a list of events or a single event. */
export interface BatchAck {
  events: number;
}

/** Maximum size of a broadcast in bytes. It protects memory from typing errors; Socket.IO clients accept far less. */
export const MAX_BROADCAST_BYTES = 10_000_000;

/** Control request to publish a broadcast to `room`. `bytes` is its number of characters, or of bytes if `binary`. */
export interface BroadcastRequest {
  room: string;
  bytes: number;
  binary?: boolean;
  seq: number;
  /** Send time on the server's monotonic clock, at most one second ahead. Default: immediately. */
  atUs?: number;
  /**
   * Set to false to send without counting the members. Needed while workers restart, because they cannot reply then.
   */
  count?: false;
}

/** Reply to a control request: a value or an error. A server of another version can send unknown error codes. */
export type ControlReply<T> = { ok: true; value: T } | { ok: false; code: ErrorCode; message: string };
