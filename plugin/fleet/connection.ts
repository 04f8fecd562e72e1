/** What a fleet process knows of one connection of the engine. A reconnect gives it a new client with a new slot. */
import type { Client, ClientOptions } from './client.ts';
import type { FleetCommand } from './messages.ts';

export type Emit = Extract<FleetCommand, { op: 'emit' }>;

/** A namespace that the server has not answered for yet. */
export interface Opening {
  /** What the answer answers. */
  requestId: number;
  begunAtUs: number;
  /** Sent as soon as it is open; forgotten if it fails. */
  emits: Emit[] | undefined;
}

export interface Connection {
  id: number;
  client: Client | undefined;
  /** Worker named by the session id, `''` until connected. */
  worker: string;
  open: boolean;
  /** Start of the first attempt that has not been followed by success. */
  attemptingSinceUs: number;
  opening: Map<string, Opening> | undefined;
  /** The request to close it, once there is one. */
  leaving: number | undefined;
  portTries: number;
  overrides: Partial<ClientOptions> | undefined;
}

/** All keys at once, so that all connections are of one shape to V8. */
export function newConnection(id: number): Connection {
  return {
    id,
    client: undefined,
    worker: '',
    open: false,
    attemptingSinceUs: 0,
    opening: undefined,
    leaving: undefined,
    portTries: 0,
    overrides: undefined,
  };
}

/** Our servers' session ids begin with the worker's id, `w0-…`; others' tell nothing. */
export function workerOf(sessionId: string): string {
  return /^([a-z0-9]+)-/.exec(sessionId)?.[1] ?? '';
}
