/** What a fleet process knows of one connection of the engine. A reconnect gives it a new client with a new slot. */
import type { Client, ClientOptions, TransportState } from '../../client/client.ts';
import type { FleetCommand } from '../../messages.ts';
import type { KeptEvents } from '../messages/kept-events.ts';
import { NO_SENDERS, type SendingConnection } from '../messages/sender.ts';
import type { Home } from './home.ts';

export type EmitCommand = Extract<FleetCommand, { op: 'emit' }>;

/** A namespace that the server has not accepted or refused yet. */
interface PendingNamespace {
  namespace: string;
  /** The `open` command that waits for it. */
  requestId: number;
  begunAtUs: number;
  /** Sent as soon as the namespace is open; discarded if it fails. */
  emits: EmitCommand[] | undefined;
}

export interface ConnectionState {
  id: number;
  client: Client | undefined;
  /** Worker named by the session id, `''` until connected. */
  worker: string;
  /** The server named it in the answer to a join; otherwise it is the first part of the session id. */
  namedByJoin: boolean;
  open: boolean;
  /** Now, or when it was last open; undefined until it has opened. */
  transport: TransportState | undefined;
  isUpgrading: boolean;
  /** As `transport`: now, or when it was last open. */
  isCompressed: boolean;
  /** Start of the first attempt since the connection was last open; 0 while it is open. */
  attemptingSinceUs: number;
  /** Replaced, never pushed to: there is nearly always one, and V8 allocates room for 16 when an array grows. */
  pending: readonly PendingNamespace[];
  /** The `close` command, once there is one. */
  closeRequestId: number | undefined;
  portTries: number;
  overrides: Partial<ClientOptions> | undefined;
  /** What it sends again and again. Replaced, never pushed to. */
  senders: SendingConnection['senders'];
  /** Undefined if no step of the flow waits for an event. */
  kept: KeptEvents | undefined;
  /** Undefined unless the run reconnects. */
  home: Home | undefined;
}

export const NONE_PENDING: readonly PendingNamespace[] = [];

/** Sets all keys at once, so that all connections have the same shape in V8. */
export function newConnectionState(id: number, home: Home | undefined): ConnectionState {
  return {
    id,
    client: undefined,
    worker: '',
    namedByJoin: false,
    open: false,
    transport: undefined,
    isUpgrading: false,
    isCompressed: false,
    attemptingSinceUs: 0,
    pending: NONE_PENDING,
    closeRequestId: undefined,
    portTries: 0,
    overrides: undefined,
    senders: NO_SENDERS,
    kept: undefined,
    home,
  };
}

/** @returns the worker's id that our own servers put in front of a session id, `w0-…`; `''` for any other server */
export function workerOf(sessionId: string): string {
  return /^([a-z0-9]+)-/.exec(sessionId)?.[1] ?? '';
}

/** Those that the connection's client is to open. */
export function namespacesToOpen({ pending, home }: ConnectionState): string[] {
  return [...(home?.away?.waiting ?? []), ...pending.map(({ namespace }) => namespace)];
}

export function findPending({ pending }: ConnectionState, namespace: string): PendingNamespace | undefined {
  for (const one of pending) if (one.namespace === namespace) return one;
  return undefined;
}

/** To be called when the server has accepted or refused the namespace. */
export function takePending(connection: ConnectionState, namespace: string): PendingNamespace | undefined {
  const taken = findPending(connection, namespace);
  const others = connection.pending.filter((one) => one !== taken);
  // Every held connection keeps this array, so all of them share one empty array.
  connection.pending = others.length === 0 ? NONE_PENDING : others;
  return taken;
}
