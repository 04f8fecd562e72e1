/** What a fleet process knows of one connection of the engine. A reconnect gives it a new client with a new slot. */
import type { Client, ClientOptions, RecoverableSession, TransportState } from '../../client/client.ts';
import type { FleetCommand } from '../../fleet-messages.ts';
import { NO_SENDERS, type SendingConnection } from '../messages/sender.ts';
import type { Listening } from './listening.ts';

export type EmitCommand = Extract<FleetCommand, { op: 'emit' }>;

/** A namespace that the server has not accepted or refused yet. */
export interface PendingNamespace {
  namespace: string;
  /** The `open` command that waits for it. */
  requestId: number;
  begunAtUs: number;
  /** Sent as soon as the namespace is open; discarded if it fails. */
  emits: readonly EmitCommand[];
}

/** What makes the connection a member of a room. */
interface Join {
  namespace: string;
  event: string;
  args: unknown[];
}

/** What a connection keeps that can come back. */
export interface Home {
  /** Those that were opened, and not ended by the server. */
  namespaces: readonly string[];
  joins: readonly Join[];
  away: Absence | undefined;
}

/** From a drop until all namespaces are back. */
export interface Absence {
  /** Why it dropped. */
  reason: string;
  sinceUs: number;
  attempts: number;
  /** Namespaces that are not back yet. */
  waiting: readonly string[];
  sessions: readonly RecoverableSession[];
  /** Which the ledger knows it by; a recovered session keeps it. */
  slot: number;
  /** The transport is open again. */
  isBack: boolean;
  /** Namespaces whose sessions were restored. */
  restored: readonly string[];
}

// Every held connection has such lists, nearly always the same. They are replaced, never pushed to: V8 allocates room for 16
// when an array grows.
export const NONE_PENDING: readonly PendingNamespace[] = [];
const NO_EMITS: readonly EmitCommand[] = [];
const NO_JOINS: readonly Join[] = [];
const NO_NAMESPACES: readonly string[] = [];

export class Connection {
  readonly id: number;
  client: Client | undefined = undefined;
  /** Worker named by the session id, `''` until connected. */
  worker = '';
  /** The server named it in the answer to a join; otherwise it is the first part of the session id. */
  namedByJoin = false;
  open = false;
  /** When it opened last, in whole ms of `performance.now()`. */
  openedAtMs = 0;
  /** Now, or when it was last open; undefined until it has opened. */
  transport: TransportState | undefined = undefined;
  isUpgrading = false;
  /** As `transport`: now, or when it was last open. */
  isCompressed = false;
  /** Start of the first attempt since the connection was last open; 0 while it is open. */
  attemptingSinceUs = 0;
  pending = NONE_PENDING;
  /** The `close` command, once there is one. */
  closeRequestId: number | undefined = undefined;
  overrides: Partial<ClientOptions> | undefined = undefined;
  /** Rooms of an own event that its virtual user has named. */
  rooms: readonly string[] | undefined = undefined;
  /** What it sends again and again. */
  senders: SendingConnection['senders'] = NO_SENDERS;
  unanswered: SendingConnection['unanswered'] = undefined;
  /** Undefined if nobody wants any event. */
  listening: Listening | undefined = undefined;
  /** Undefined unless the run reconnects. */
  readonly home: Home | undefined;

  constructor(id: number, reconnects: boolean) {
    this.id = id;
    this.home = reconnects ? { namespaces: NO_NAMESPACES, joins: NO_JOINS, away: undefined } : undefined;
  }

  /** Those that its client is to open. */
  namespacesToOpen(): string[] {
    return [...(this.home?.away?.waiting ?? []), ...this.pending.map(({ namespace }) => namespace)];
  }

  addPending(pending: Omit<PendingNamespace, 'emits'>, emit: EmitCommand | undefined): void {
    this.pending = this.pending.concat({ ...pending, emits: emit ? [emit] : NO_EMITS });
  }

  findPending(namespace: string): PendingNamespace | undefined {
    for (const one of this.pending) if (one.namespace === namespace) return one;
    return undefined;
  }

  /** To be called when the server has accepted or refused the namespace. */
  takePending(namespace: string): PendingNamespace | undefined {
    const taken = this.findPending(namespace);
    const others = this.pending.filter((one) => one !== taken);
    this.pending = others.length === 0 ? NONE_PENDING : others;
    return taken;
  }

  /** It is to have this namespace, and to join again, when it comes back. */
  keepNamespace(namespace: string): void {
    const { home } = this;
    if (home && !home.namespaces.includes(namespace)) home.namespaces = home.namespaces.concat(namespace);
  }

  forgetNamespace(namespace: string): void {
    if (this.home) this.home.namespaces = without(this.home.namespaces, namespace);
  }

  keepJoin({ namespace, event, args }: Join): void {
    if (this.home) this.home.joins = this.home.joins.concat({ namespace, event, args });
  }
}

/** @returns the worker's id that our own servers put in front of a session id, `w0-…`; `''` for any other server */
export function workerOf(sessionId: string): string {
  return /^([a-z0-9]+)-/.exec(sessionId)?.[1] ?? '';
}

export function without(namespaces: readonly string[], namespace: string): readonly string[] {
  const others = namespaces.filter((other) => other !== namespace);
  return others.length === 0 ? NO_NAMESPACES : others;
}
