/**
 * What the engine's side of the fleet and a fleet process say to each other, over the child process's IPC channel.
 * Both sides send arrays: everything that one turn of the event loop produced travels as one message, and what nobody
 * waits for travels with the next.
 */
import type { ClientKind } from '../../protocol/connection.ts';
import type { FailureCode } from '../../protocol/failure-codes.ts';
import type { FleetSnapshot, FreezeOrder, FrozenBroadcast } from '../../protocol/link.ts';
import type { ClientOptions } from './client.ts';

/** What stays the same for all connections of a run. */
export interface FleetSettings {
  client: ClientKind;
  defaults: ClientOptions;
  /** Source addresses, taken in turn. Empty: the kernel's choice. */
  localAddresses: string[];
  /** Ask for an acknowledgement of every `join_room`, so that the ledger knows the members. */
  ledger: boolean;
  /** The run's broadcasts; undefined without a run. */
  broadcasts?: BroadcastPlan;
  /** Disconnects per second when many connections leave together. */
  disconnectRatePerSec: number;
  /** Which of how many fleets of the run this is: one for each Artillery worker, all on the same addresses. */
  fleet: { index: number; of: number };
}

/** What every copy of a broadcast is checked against. */
export interface BroadcastPlan {
  /** They are numbered from 1 to this. */
  count: number;
  /** Characters of payload; undefined where they are not known. */
  bytes: number | undefined;
  /** The payload itself, of ASCII; likewise. */
  payload: string | undefined;
}

/** To a fleet process, before any command. Not as its arguments: headers and keys are secrets, which `ps` would show. */
export interface FleetStart {
  settings: FleetSettings;
  /** Which of how many processes of its fleet it is. */
  index: number;
  processes: number;
}

export interface Emission {
  event: string;
  args: unknown[];
}

/** Of one object for many connections, a message carries one copy. */
export interface OpenOptions {
  overrides?: Partial<ClientOptions>;
  /** Sent as soon as the namespace is open; forgotten if it fails. */
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
      /** Its turn comes that much later; until then all else it is told waits. */
      afterMs?: number;
    }
  | { op: 'emit'; id: number; namespace: string; event: string; args: unknown[]; requestId?: number }
  | { op: 'interest'; id: number; event: string; wanted: boolean }
  | { op: 'close'; id: number; requestId: number }
  | { op: 'reset'; requestId: number }
  | { op: 'snapshot'; requestId: number }
  | { op: 'freeze'; requestId: number; broadcasts: FreezeOrder[] }
  | { op: 'exit' };

export type FleetAnswer =
  | { op: 'ready'; pid: number }
  | { op: 'opened'; requestId: number; begunAtUs: number; openedAtUs: number }
  | { op: 'failed'; requestId: number; cause: FailureCode; message: string; data?: unknown }
  | { op: 'acked'; requestId: number; args: unknown[] }
  | { op: 'event'; id: number; namespace: string; event: string; args: unknown[] }
  | { op: 'closed'; id: number; reason: string; namespace?: string }
  | { op: 'left'; requestId: number }
  | { op: 'status'; connecting: number; connected: number; joining: number; joined: number; received: number }
  | { op: 'reset'; requestId: number }
  | { op: 'snapshot'; requestId: number; snapshot: ProcessSnapshot }
  | { op: 'frozen'; requestId: number; rows: FrozenBroadcast[] };

/** One process's share of the `FleetSnapshot`; failures and retries that the engine decides on are added there. */
export type ProcessSnapshot = Omit<
  FleetSnapshot,
  'processes' | 'accounts' | 'engineLoop' | 'retries' | 'reconnects' | 'failures'
> & {
  health: Omit<FleetSnapshot['processes'][number], 'index' | 'alive' | 'answers'>;
  /** Attempts that failed, by cause (each attempt, repeats included). */
  attemptFailures: Record<string, number>;
};
