/**
 * The wire contract between the load generator and a Socket.IO server. A server that keeps it (ours, or any other with
 * `instrument(io)`) can be measured completely. The meaning of each field is fixed, because people script against it.
 */

import type { ErrorCode } from '../codes/error-codes.ts';

export type * from './control-replies.ts';

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

/** A control request's reply: the value, or the error. A server of another version can send unknown codes. */
export type ControlReply<T> = { ok: true; value: T } | { ok: false; code: ErrorCode; message: string };
