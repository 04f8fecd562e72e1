/**
 * Messages between the engine and a fleet process, over the child process's IPC channel. Each message is an array with
 * all commands or answers that one turn of the event loop produced. Commands and answers that are not urgent wait for a
 * later message.
 */

import type { knownSecrets } from '../../protocol/base/secrets/known-secrets.ts';
import type { FailureCode } from '../../protocol/codes/failure-codes.ts';
import type { MessageCounts, MessageStage } from '../../protocol/link/client-messages.ts';
import type { CloseKind } from '../../protocol/link/close-kinds.ts';
import type { FaultCommand } from '../../protocol/link/fault-messages.ts';
import type { FreezeRequest, FrozenBroadcast, OwnEventSightings } from '../../protocol/link/ledger-messages.ts';
import type { EventLoopHealth, FleetSnapshot, FleetStatus } from '../../protocol/link/snapshot.ts';
import type { CountedEvent, EventCounts } from '../../protocol/link/time-series.ts';
import type { Backoff, ClientKind } from '../../protocol/wire/connection.ts';
import type { RoomPlan } from '../../protocol/wire/rooms.ts';
import type { ClientOptions, ClientState, Heartbeat, RepeatedMessage } from './client/client.ts';
import type { OwnEventPlan } from './client/counted-event.ts';
import type { ConnectionFailure } from './client/failure.ts';

/** Settings that all connections of a run share. */
export interface FleetSettings {
  client: ClientKind;
  defaults: ClientOptions;
  /** Source addresses, which the connections use in turn. If the list is empty, the kernel chooses an address. */
  localAddresses: string[];
  /** Whether to request an acknowledgement of every `join_room`. The ledger needs it to count the members of rooms. */
  ledger: boolean;
  /** Number and payload of the broadcasts that the run publishes; undefined outside a run. */
  broadcasts?: BroadcastPlan;
  /** Rooms over which connections are spread; undefined for a single room. */
  rooms?: RoomPlan;
  /** Server's own event, which the run counts; undefined if the run publishes the broadcasts. */
  ownEvent?: OwnEventPlan;
  /** Events without ids. Each connection counts its received copies. */
  countedEvents?: CountedEvent[] | undefined;
  /** Delays before dropped connections reconnect; undefined if they do not reconnect. */
  reconnection?: Backoff | undefined;
  /** Rate per second at which connections are closed, if many must be closed at once. */
  disconnectRatePerSec: number;
  /**
   * Index of this fleet among all fleets of the host, and their number. Each Artillery worker has one fleet. All fleets
   * use the same source addresses.
   */
  fleet: { index: number; of: number };
  /**
   * Index of this host among all hosts of the run; undefined for a single host. Each host has its own source addresses.
   */
  host?: { index: number; of: number };
}

/** Broadcasts that a run publishes, with their expected payload. */
export interface BroadcastPlan {
  /** Number of broadcasts that the run publishes. They are numbered from 1. */
  count: number;
  /** Expected length of the payload in characters; undefined if unknown. */
  bytes: number | undefined;
  /** Whether connections can receive different payloads of the same broadcast. */
  contentVaries?: boolean;
}

/**
 * Settings sent to a fleet process before any command. Command-line arguments would show secret headers and keys in
 * `ps`.
 */
export interface FleetStart {
  settings: FleetSettings;
  /**
   * Secrets to mask in the server's texts. Texts are masked before they are shortened, because a truncated secret would
   * not be recognised.
   */
  secrets: ReturnType<typeof knownSecrets>;
  index: number;
  processes: number;
}

export interface EmittedMessage {
  event: string;
  args: unknown[];
}

/**
 * Options for opening a connection. Connections should share one object, because a message then contains a single copy
 * of it.
 */
export interface OpenOptions {
  overrides?: Partial<ClientOptions>;
  /** Event to send as soon as the namespace is open. Dropped if the namespace does not open. */
  emit?: EmittedMessage;
}

/** Requests to a whole fleet process, with the types of their answers. */
export interface ProcessQuestions {
  /**
   * Drops all connections, and resets all counts and ledgers.
   * @param firstId number of the first connection of the run
   */
  reset(firstId: number): void;
  snapshot(): ProcessSnapshot;
  freeze(broadcasts: FreezeRequest[]): FrozenBroadcast[];
  sight(order: SightingsRequest): OwnEventSightings;
  messages(stage: MessageStage): MessageCounts;
  /**
   * Returns the counts of received events without ids since the last call. Includes only connections that were open all
   * the time.
   */
  events(): EventCounts[];
  fault(order: FaultCommand): void;
  /**
   * Returns the state of a connection.
   * @param id number of the connection
   * @returns undefined if the connection is neither connecting nor open
   */
  describe(id: number): ClientState | undefined;
}

/** Event name that stands for all events in a `listen` command. */
export const ANY_EVENT = '*';

/** Details of how a connection of the official client ended. */
export interface OfficialClientEnd {
  found: CloseKind;
  heartbeat: Heartbeat;
}

export interface SightingsRequest {
  /** Whether to count broadcasts of the server's own event with new ids from now on. */
  watch: boolean;
  /** Ids of broadcasts outside the measured part of the run. The ledger discards the rows of these broadcasts. */
  outside: string[];
}

/**
 * Handling of a received event. `hold` keeps the event in the fleet process until the engine takes it. `take` passes it
 * on, after all held events. `each` passes it on unless the engine is too far behind. `drop` discards it.
 */
export type ListenMode = 'hold' | 'take' | 'each' | 'drop';

/**
 * Commands to a fleet process. `id` is the connection's number, assigned by the engine. `requestId` identifies the
 * command in its answer.
 */
export type FleetCommand =
  | {
      op: 'open';
      id: number;
      requestId: number;
      namespace: string;
      options?: OpenOptions;
    }
  | { op: 'emit'; id: number; namespace: string; event: string; args: unknown[]; requestId?: number }
  /** Adds the connection to rooms of the server's own event, in a namespace. */
  | { op: 'enter'; id: number; namespace: string; rooms: string[] }
  /**
   * Starts to send a repeated message. `message` is included only the first time that its `key` is used in a process.
   */
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
  | ({ op: 'failed'; requestId: number } & ConnectionFailure)
  | ConnectionReport
  | ({ op: 'status' } & Omit<FleetStatus, 'started' | 'others' | 'holding' | 'failed' | 'failures' | 'ended'>);

/** Reports about a connection that are not answers to commands. */
export type ConnectionReport =
  /**
   * A received event.
   * @property atUs receive time on CLOCK_MONOTONIC in microseconds
   * @property each set if the event goes to a function in the user's processor, not to a waiting step
   */
  | { op: 'event'; id: number; namespace: string; event: string; args: unknown[]; atUs: number; each?: true }
  /** Number of held events that were discarded in favour of newer events. */
  | { op: 'displaced'; id: number; count: number }
  /** The server refused a join whose acknowledgement no step waits for. */
  | { op: 'refused'; id: number; cause: FailureCode; message: string }
  /**
   * Reports the end of a connection or of a namespace.
   * @property returns set if the process will try to reconnect; a `returned` report follows for each namespace
   */
  | { op: 'closed'; id: number; reason: string; namespace?: string; returns?: true; end?: OfficialClientEnd }
  | ({ op: 'returned'; id: number } & ReconnectReport);

export interface ReconnectReport {
  /** Reconnected namespace; undefined if the whole connection is lost. */
  namespace: string | undefined;
  /** Reason of the disconnect, if the connection will not reconnect. */
  lostBy: string | undefined;
  /** Cause of the last failed attempt to reconnect. */
  why?: string;
  /** Number of reconnect attempts after the first one. Set only in the report for the connection's first namespace. */
  retries: number;
}

/**
 * A process's part of the `FleetSnapshot`. The engine adds its own counts, and the counts of processes that have died.
 */
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
