/** What a fleet process knows of one connection of the engine. A reconnect gives it a new client with a new slot. */
import type { Client, ClientOptions } from './client.ts';
import type { FleetCommand } from './messages.ts';

export type Emit = Extract<FleetCommand, { op: 'emit' }>;

/** A namespace that the server has not answered for yet. */
export interface Opening {
  namespace: string;
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
  /** Replaced, never pushed to: nearly always there is one, and an array that grows sets 16 places aside. */
  openings: readonly Opening[];
  /** The request to close it, once there is one. */
  leaving: number | undefined;
  portTries: number;
  overrides: Partial<ClientOptions> | undefined;
}

export const NO_OPENINGS: readonly Opening[] = [];

/** All keys at once, so that all connections are of one shape to V8. */
export function newConnection(id: number): Connection {
  return {
    id,
    client: undefined,
    worker: '',
    open: false,
    attemptingSinceUs: 0,
    openings: NO_OPENINGS,
    leaving: undefined,
    portTries: 0,
    overrides: undefined,
  };
}

/** Our servers' session ids begin with the worker's id, `w0-…`; others' tell nothing. */
export function workerOf(sessionId: string): string {
  return /^([a-z0-9]+)-/.exec(sessionId)?.[1] ?? '';
}

export function openingOf({ openings }: Connection, namespace: string): Opening | undefined {
  for (const opening of openings) if (opening.namespace === namespace) return opening;
  return undefined;
}

/** The server has answered for the namespace, one way or the other. */
export function takeOpening(connection: Connection, namespace: string): Opening | undefined {
  const taken = openingOf(connection, namespace);
  const others = connection.openings.filter((one) => one !== taken);
  // Every held connection keeps this: not an empty array for each.
  connection.openings = others.length === 0 ? NO_OPENINGS : others;
  return taken;
}
