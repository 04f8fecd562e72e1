/**
 * The messages between the engine's side of the fleet and a fleet process, over the child process's IPC channel.
 * Both sides send arrays: everything that one turn of the event loop produced travels as one message, and items that
 * can wait travel with later ones.
 */

import type { FailureCode } from '../../protocol/codes/failure-codes.ts';
import type { Backoff, ClientKind } from '../../protocol/connection.ts';
import type { MessageCounts, MessageStage } from '../../protocol/link/client-messages.ts';
import type { FaultOrder } from '../../protocol/link/fault.ts';
import type { FreezeOrder, FrozenBroadcast } from '../../protocol/link/ledger.ts';
import type { Sightings } from '../../protocol/link/sightings.ts';
import type { FleetSnapshot } from '../../protocol/link/snapshot.ts';
import type { RoomPlan } from '../../protocol/rooms.ts';
import type { ClientOptions } from './client/client.ts';
import type { OwnEventPlan } from './client/own-event.ts';
import type { RepeatedMessage } from './client/repeated-message.ts';

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
  /** If there are many, those that joins of its room are spread over. */
  rooms?: RoomPlan;
  /** Counted in place of the contract's broadcast; undefined where the run publishes that. */
  ownEvent?: OwnEventPlan;
  /** How connections that drop come back; undefined: they do not. */
  reconnection?: Backoff | undefined;
  /** Disconnects per second when many connections leave together. */
  disconnectRatePerSec: number;
  /** Index of this fleet among those of the run: one for each Artillery worker, all on the same addresses. */
  fleet: { index: number; of: number };
  /** Index of this host among those of the run, if there are several: they have addresses of their own. */
  host?: { index: number; of: number };
}

/** What every copy of a broadcast is checked against. */
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

/** `id` is the connection's number, given by the parent; `requestId` pairs an answer with its command. */
export type FleetCommand =
  | {
      op: 'open';
      id: number;
      requestId: number;
      namespace: string;
      options?: OpenOptions;
      interest?: string[];
      /** Events to be kept in the process until they are taken. */
      keep?: [namespace: string, event: string][];
      /** Delays the opening; further commands for the connection wait as well. */
      afterMs?: number;
    }
  | { op: 'emit'; id: number; namespace: string; event: string; args: unknown[]; requestId?: number; isRepeat?: true }
  /** The connection sends the message from now on. `message` comes once for each process, with the first of its keys. */
  | { op: 'repeat'; id: number; key: number; message?: RepeatedMessage }
  | { op: 'interest'; id: number; event: string; wanted: boolean }
  /** `hold` keeps events in the process; `take` hands them over, and then all that come; `drop` forgets them. */
  | { op: 'keep'; id: number; namespace: string; event: string; mode: 'hold' | 'take' | 'drop' }
  | { op: 'close'; id: number; requestId: number }
  /** Connections from this id on are those of the run. */
  | { op: 'reset'; requestId: number; firstId: number }
  | { op: 'snapshot'; requestId: number }
  | { op: 'freeze'; requestId: number; broadcasts: FreezeOrder[] }
  | { op: 'sight'; requestId: number; watch: boolean; outside: string[] }
  | { op: 'messages'; requestId: number; stage: MessageStage }
  | { op: 'fault'; requestId: number; order: FaultOrder }
  | { op: 'exit' };

export type FleetAnswer =
  | { op: 'ready'; pid: number }
  | { op: 'opened'; requestId: number; begunAtUs: number; openedAtUs: number }
  | {
      op: 'failed';
      requestId: number;
      cause: FailureCode;
      message: string;
      data?: unknown;
      retryAfterMs?: number | undefined;
    }
  | { op: 'acked'; requestId: number; args: unknown[] }
  /** The server refused something that nobody waits for. */
  | { op: 'refused'; id: number; cause: FailureCode; message: string }
  | { op: 'event'; id: number; namespace: string; event: string; args: unknown[] }
  /** What was kept, oldest first, and how many older ones it displaced. */
  | { op: 'kept'; id: number; namespace: string; event: string; events: unknown[][]; displaced: number }
  /** Events that were displaced and whose successors nobody has taken. */
  | { op: 'displaced'; id: number; count: number }
  /** @property returns the process will try to bring it back: `returned` for each namespace, or `lost` follows */
  | { op: 'closed'; id: number; reason: string; namespace?: string; returns?: true }
  /** `retries`: attempts after the first one; reported once for all namespaces. */
  | { op: 'returned'; id: number; namespace: string; isRecovered: boolean; retries: number }
  /** It stays away, or one of its namespaces; `reason` is that of the drop. */
  | { op: 'lost'; id: number; namespace?: string; reason: string; retries: number }
  | { op: 'left'; requestId: number }
  | {
      op: 'status';
      connecting: number;
      connected: number;
      upgrading: number;
      away: number;
      joining: number;
      joined: number;
      received: number;
      reached: number;
      loopLateMs: number;
    }
  | { op: 'reset'; requestId: number }
  | { op: 'snapshot'; requestId: number; snapshot: ProcessSnapshot }
  | { op: 'frozen'; requestId: number; rows: FrozenBroadcast[] }
  | { op: 'sighted'; requestId: number; sightings: Sightings }
  | { op: 'messages'; requestId: number; counts: MessageCounts }
  | { op: 'faulted'; requestId: number };

/** One process's contribution to the `FleetSnapshot`; the engine adds the failures and retries that it decides on. */
export type ProcessSnapshot = Omit<
  FleetSnapshot,
  'processes' | 'accounts' | 'disconnects' | 'engineLoop' | 'retries' | 'failures' | 'failureExamples'
> & {
  health: Omit<FleetSnapshot['processes'][number], 'index' | 'alive' | 'answers'>;
  /** Attempts that failed, by cause (each attempt, repeats included). */
  attemptFailures: Record<string, number>;
};
