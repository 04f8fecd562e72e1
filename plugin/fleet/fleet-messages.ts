/**
 * The messages between the engine's side of the fleet and a fleet process, over the child process's IPC channel.
 * Both sides send arrays: everything that one turn of the event loop produced travels as one message, and items that
 * can wait travel with later ones.
 */

import type { knownSecrets } from '../../protocol/base/secrets/known-secrets.ts';
import type { FailureCode } from '../../protocol/codes/failure-codes.ts';
import type { MessageCounts, MessageStage } from '../../protocol/link/client-messages.ts';
import type { EndKind } from '../../protocol/link/ends.ts';
import type { FaultOrder } from '../../protocol/link/fault-messages.ts';
import type { FreezeOrder, FrozenBroadcast, Sightings } from '../../protocol/link/ledger-messages.ts';
import type { EventLoopHealth, FleetSnapshot, FleetStatus } from '../../protocol/link/snapshot.ts';
import type { CountedEvent, EventCounts } from '../../protocol/link/time-series.ts';
import type { Backoff, ClientKind } from '../../protocol/wire/connection.ts';
import type { RoomPlan } from '../../protocol/wire/rooms.ts';
import type { ClientOptions, ClientState, Heartbeat, RepeatedMessage } from './client/client.ts';
import type { OwnEventPlan } from './client/counted-event.ts';
import type { Failure } from './client/failure.ts';

/** The same for all connections of a run. */
export interface FleetSettings {
  client: ClientKind;
  defaults: ClientOptions;
  /** Source addresses, taken in turn. Empty: the kernel's choice. */
  localAddresses: string[];
  /** Request an acknowledgement of every `join_room`, so that the ledger knows the members. */
  ledger: boolean;
  /** The run's broadcasts; undefined without a run. */
  broadcasts?: BroadcastPlan;
  /** Rooms over which joins are distributed, if there are several. */
  rooms?: RoomPlan;
  /** Counted in place of the contract's broadcast; undefined where the run publishes that. */
  ownEvent?: OwnEventPlan;
  /** Events of which each connection counts its copies, without ids. */
  countedEvents?: CountedEvent[] | undefined;
  /** Reconnection of dropped connections; undefined without reconnection. */
  reconnection?: Backoff | undefined;
  /** Disconnects per second when many connections leave together. */
  disconnectRatePerSec: number;
  /** Index of this fleet among those of the run: one for each Artillery worker, all on the same addresses. */
  fleet: { index: number; of: number };
  /** Index of this host among those of the run, if there are several: they have addresses of their own. */
  host?: { index: number; of: number };
}

/** Expected values of every copy of a broadcast. */
export interface BroadcastPlan {
  /** They are numbered from 1 to this. */
  count: number;
  /** Characters of payload; undefined where they are not known. */
  bytes: number | undefined;
  /** Each connection can get another payload. */
  contentVaries?: boolean;
}

/** Sent to a fleet process before any command, and not as its arguments: `ps` would show secret headers and keys. */
export interface FleetStart {
  settings: FleetSettings;
  /** Secrets to mask in texts of servers before they are shortened: half a secret would not be recognised later. */
  secrets: ReturnType<typeof knownSecrets>;
  /** Index of the process in its fleet. */
  index: number;
  processes: number;
}

export interface Emission {
  event: string;
  args: unknown[];
}

/** Share one object among many connections: a message then carries a single copy. */
export interface OpenOptions {
  overrides?: Partial<ClientOptions>;
  /** Sent as soon as the namespace is open; discarded if it fails. */
  emit?: Emission;
}

/** Requests to a whole process, with their answers. */
export interface ProcessQuestions {
  /** Drops all connections, and begins all counts and ledgers anew. @param firstId connections from it on are those of the run */
  reset(firstId: number): void;
  snapshot(): ProcessSnapshot;
  freeze(broadcasts: FreezeOrder[]): FrozenBroadcast[];
  sight(order: SightOrder): Sightings;
  messages(stage: MessageStage): MessageCounts;
  /** Copies of events without ids since the last call, on connections that were open all the time. */
  events(): EventCounts[];
  fault(order: FaultOrder): void;
  /** @param id of a connection @returns undefined if it is neither connecting nor open */
  describe(id: number): ClientState | undefined;
}

/** `listen` for this name takes all events. */
export const ANY = '*';

/** Details about the end of a connection of the official client. */
export interface End {
  found: EndKind;
  heartbeat: Heartbeat;
}

export interface SightOrder {
  /** Whether ids of the own event that appear from now on are counted. */
  watch: boolean;
  /** Ids that are none of the run's: their rows are given up. */
  outside: string[];
}

/**
 * Handling of an event: the process holds it until it is taken, hands it over together with held ones, hands over each unless the parent is
 * behind, or discards it.
 */
export type ListenMode = 'hold' | 'take' | 'each' | 'drop';

/** `id` is the connection's number, given by the parent; `requestId` pairs a command with its one answer. */
export type FleetCommand =
  | {
      op: 'open';
      id: number;
      requestId: number;
      namespace: string;
      options?: OpenOptions;
    }
  | { op: 'emit'; id: number; namespace: string; event: string; args: unknown[]; requestId?: number }
  /** The connection is in these rooms of an own event, in a namespace. */
  | { op: 'enter'; id: number; namespace: string; rooms: string[] }
  /** The connection sends the message from now on. `message` comes once for each process, with the first of its keys. */
  | { op: 'repeat'; id: number; key: number; message?: RepeatedMessage }
  | { op: 'listen'; id: number; namespace: string; event: string; mode: ListenMode }
  | { op: 'close'; id: number; requestId: number }
  | { op: 'ask'; requestId: number; question: keyof ProcessQuestions; given: unknown }
  | { op: 'exit' };

/** A command for one connection. */
export type ConnectionCommand = Extract<FleetCommand, { id: number }>;
export type EmitCommand = Extract<FleetCommand, { op: 'emit' }>;

export type FleetAnswer =
  | { op: 'opened'; requestId: number; begunAtUs: number; openedAtUs: number }
  | { op: 'acked'; requestId: number; args: unknown[] }
  | { op: 'left'; requestId: number }
  | { op: 'answer'; requestId: number; answer: unknown }
  | ({ op: 'failed'; requestId: number } & Failure)
  | ConnectionReport
  | ({ op: 'status' } & Omit<FleetStatus, 'started' | 'others' | 'holding' | 'failed' | 'failures' | 'ended'>);

/** Events of a connection that no command caused. */
export type ConnectionReport =
  /** @property atUs of its receipt, on CLOCK_MONOTONIC @property each no step waits for it */
  | { op: 'event'; id: number; namespace: string; event: string; args: unknown[]; atUs: number; each?: true }
  /** Events that were held and displaced by newer ones. */
  | { op: 'displaced'; id: number; count: number }
  /** The server refused a message for whose answer no step waits. */
  | { op: 'refused'; id: number; cause: FailureCode; message: string }
  /** @property returns the process will try to bring it back: `returned` follows for each namespace */
  | { op: 'closed'; id: number; reason: string; namespace?: string; returns?: true; end?: End }
  | ({ op: 'returned'; id: number } & Return);

/** Outcome of a reconnect. */
export interface Return {
  /** Undefined if all are lost. */
  namespace: string | undefined;
  /** The reason of the drop, if it stays away. */
  lostBy: string | undefined;
  /** Why the last attempt to reconnect failed. */
  why?: string;
  /** Attempts after the first one; reported once for all namespaces. */
  retries: number;
}

/** A process's contribution to the `FleetSnapshot`; the engine adds its own counts, and those of dead processes. */
export type ProcessSnapshot = Omit<
  FleetSnapshot,
  | 'processes'
  | 'otherUsers'
  | 'functions'
  | 'http'
  | 'accounts'
  | 'still'
  | 'disconnects'
  | 'engineLoop'
  | 'retries'
  | 'failures'
  | 'failureExamples'
> & { eventLoop: EventLoopHealth };
