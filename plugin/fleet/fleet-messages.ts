/**
 * Messages between the engine and a fleet process, over the child process's IPC channel. Both sides send arrays: one
 * message carries everything that a turn of the event loop produced, and items that can wait share a later message.
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

/** Settings that all connections of a run share. */
export interface FleetSettings {
  client: ClientKind;
  defaults: ClientOptions;
  /** Source addresses, used in turn; if empty, the kernel chooses. */
  localAddresses: string[];
  /** Whether to request an acknowledgement of every `join_room`, from which the ledger learns the members. */
  ledger: boolean;
  /** The run's broadcasts; undefined outside a run. */
  broadcasts?: BroadcastPlan;
  /** Rooms over which joins are distributed, if there are several. */
  rooms?: RoomPlan;
  /** Event counted instead of the contract's broadcast; undefined if the run publishes the broadcasts. */
  ownEvent?: OwnEventPlan;
  /** Events without ids whose copies each connection counts. */
  countedEvents?: CountedEvent[] | undefined;
  /** Backoff of dropped connections; undefined without reconnection. */
  reconnection?: Backoff | undefined;
  /** Disconnects per second when many connections close at once. */
  disconnectRatePerSec: number;
  /** Index of this fleet among those of the run. Each Artillery worker has one fleet, and all use the same addresses. */
  fleet: { index: number; of: number };
  /** Index of this host among those of the run, if there are several. Each host has its own addresses. */
  host?: { index: number; of: number };
}

/** Expected values of every copy of a broadcast. */
export interface BroadcastPlan {
  /** Largest number of a broadcast; the first is 1. */
  count: number;
  /** Characters of the payload; undefined if unknown. */
  bytes: number | undefined;
  /** Whether each connection can receive a different payload. */
  contentVaries?: boolean;
}

/**
 * Settings sent to a fleet process before any command. They are not command-line arguments, because `ps` would show secret
 * headers and keys.
 */
export interface FleetStart {
  settings: FleetSettings;
  /** Secrets to mask in server texts before the texts are shortened: half a secret would not be recognised later. */
  secrets: ReturnType<typeof knownSecrets>;
  index: number;
  processes: number;
}

export interface Emission {
  event: string;
  args: unknown[];
}

/** Options of a connection. Connections should share one object, because a message then carries a single copy. */
export interface OpenOptions {
  overrides?: Partial<ClientOptions>;
  /** Event sent as soon as the namespace is open; discarded if opening fails. */
  emit?: Emission;
}

/** Requests to a whole process, with their answers. */
export interface ProcessQuestions {
  /** Drops all connections and resets all counts and ledgers. @param firstId first connection of the run */
  reset(firstId: number): void;
  snapshot(): ProcessSnapshot;
  freeze(broadcasts: FreezeOrder[]): FrozenBroadcast[];
  sight(order: SightOrder): Sightings;
  messages(stage: MessageStage): MessageCounts;
  /** Copies of events without ids since the last call, on connections that were open all the time. */
  events(): EventCounts[];
  fault(order: FaultOrder): void;
  /** @param id number of a connection @returns undefined if it is neither connecting nor open */
  describe(id: number): ClientState | undefined;
}

/** Event name with which `listen` selects all events. */
export const ANY = '*';

/** Details of how a connection of the official client ended. */
export interface End {
  found: EndKind;
  heartbeat: Heartbeat;
}

export interface SightOrder {
  /** Whether new ids of the own event are counted from now on. */
  watch: boolean;
  /** Ids that do not belong to the run, whose rows are discarded. */
  outside: string[];
}

/**
 * Handling of an event: `hold` keeps it in the process until it is taken, `take` passes it on together with held events,
 * `each` passes it on unless the parent is behind, `drop` discards it.
 */
export type ListenMode = 'hold' | 'take' | 'each' | 'drop';

/** Commands to a fleet process. `id` is the connection's number, given by the parent; `requestId` pairs a command with its one answer. */
export type FleetCommand =
  | {
      op: 'open';
      id: number;
      requestId: number;
      namespace: string;
      options?: OpenOptions;
    }
  | { op: 'emit'; id: number; namespace: string; event: string; args: unknown[]; requestId?: number }
  /** Adds the connection to these rooms of an own event, in a namespace. */
  | { op: 'enter'; id: number; namespace: string; rooms: string[] }
  /** Starts to send the message repeatedly. `message` is sent once to each process, with the first use of its key. */
  | { op: 'repeat'; id: number; key: number; message?: RepeatedMessage }
  | { op: 'listen'; id: number; namespace: string; event: string; mode: ListenMode }
  | { op: 'close'; id: number; requestId: number }
  | { op: 'ask'; requestId: number; question: keyof ProcessQuestions; given: unknown }
  | { op: 'exit' };

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
  /** @property atUs receive time on CLOCK_MONOTONIC @property each set if no step waits for the event */
  | { op: 'event'; id: number; namespace: string; event: string; args: unknown[]; atUs: number; each?: true }
  /** Number of held events that newer ones displaced. */
  | { op: 'displaced'; id: number; count: number }
  /** The server refused a message whose answer no step waits for. */
  | { op: 'refused'; id: number; cause: FailureCode; message: string }
  /** @property returns set if the process will try to reconnect: `returned` follows for each namespace */
  | { op: 'closed'; id: number; reason: string; namespace?: string; returns?: true; end?: End }
  | ({ op: 'returned'; id: number } & Return);

export interface Return {
  /** Reconnected namespace; undefined if all are lost. */
  namespace: string | undefined;
  /** Reason of the drop, if the connection stays closed. */
  lostBy: string | undefined;
  /** Cause of the last failed attempt to reconnect. */
  why?: string;
  /** Attempts after the first one, reported once for all namespaces. */
  retries: number;
}

/** A process's contribution to the `FleetSnapshot`; the engine adds its own counts and those of dead processes. */
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
