/** The connections of one fleet process with all that is counted of them, and how one of them ends. */
import type { FailureCode } from '../../../../protocol/codes/failure-codes.ts';
import type { FaultCounts } from '../../../../protocol/link/fault.ts';
import type { FleetAnswer, FleetSettings } from '../../messages.ts';
import { Counts } from '../counts/counts.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { Acknowledgements } from '../messages/acknowledgements.ts';
import type { RepeatedMessages } from '../messages/repeated-messages.ts';
import { type ConnectionState, type EmitCommand, NONE_PENDING } from './connection-state.ts';
import { ConnectionTable } from './connection-table.ts';
import { FaultAccount } from './fault-account.ts';
import { Returns } from './returns.ts';

interface HeldConnectionsDependencies {
  settings: FleetSettings;
  ledger: Ledger;
  messages: RepeatedMessages;
  answer: (answer: FleetAnswer) => void;
  /** Gives a connection that is away a new client, and connects it. */
  attempt: (connection: ConnectionState) => void;
  emit: (command: EmitCommand) => void;
}

export class HeldConnections {
  readonly counts = new Counts();
  readonly table: ConnectionTable;
  readonly acknowledgements: Acknowledgements;
  readonly returns: Returns;
  /** Once a planned fault has begun. */
  fault: FaultAccount | undefined;
  readonly #ledger: Ledger;
  readonly #messages: RepeatedMessages;
  readonly #answer: (answer: FleetAnswer) => void;
  readonly #reusesSlots: boolean;

  constructor({ settings, ledger, messages, answer, attempt, emit }: HeldConnectionsDependencies) {
    this.#ledger = ledger;
    this.#messages = messages;
    this.#answer = answer;
    this.acknowledgements = new Acknowledgements({ ledger, settings, counts: this.counts, answer });
    const reconnects = settings.reconnection !== undefined;
    // Those that come back have the slots that they had.
    this.#reusesSlots = !ledger.remembers && !reconnects;
    this.table = new ConnectionTable({ reconnects, reusesSlots: this.#reusesSlots });
    const { table, acknowledgements } = this;
    this.returns = new Returns({ backoff: settings.reconnection, table, acknowledgements, answer, attempt, emit });
  }

  /** @returns the connections that were open */
  beginFault(atUs: number): ConnectionState[] {
    const open = this.table.open();
    this.fault = new FaultAccount(atUs, open, this.returns.recovered);
    return open;
  }

  endFault(): void {
    this.fault?.end((id) => this.table.find(id), this.returns.recovered);
  }

  faultCounts(): { fault?: FaultCounts } {
    const fault = this.fault?.read((id) => this.table.find(id), this.returns.recovered);
    return fault ? { fault } : {};
  }

  failPending(connection: ConnectionState, cause: FailureCode, message: string, retryAfterMs?: number): void {
    for (const { requestId } of connection.pending) {
      this.#answer({ op: 'failed', requestId, cause, message, retryAfterMs });
    }
    connection.pending = NONE_PENDING;
  }

  /** The client has ended; the engine can open the connection again. */
  drop(connection: ConnectionState): void {
    const { client } = connection;
    if (!client) return;
    this.acknowledgements.left(client);
    this.#messages.disconnected(connection);
    this.table.releaseSlot(client);
    if (this.#reusesSlots) this.#ledger.members.forget(client.slot);
    this.counts.assign(connection, '', false);
    this.counts.dropped(connection);
    connection.client = undefined;
    connection.open = false;
  }

  forget(connection: ConnectionState): void {
    this.drop(connection);
    this.#confirmClose(connection);
  }

  #confirmClose(connection: ConnectionState): void {
    this.returns.cancel(connection);
    this.table.delete(connection.id);
    this.displaced(connection.id, connection.kept?.displaced ?? 0);
    if (connection.closeRequestId === undefined) return;
    this.#answer({ op: 'left', requestId: connection.closeRequestId });
    connection.closeRequestId = undefined;
  }

  /** An attempt to open it has failed. */
  endAttempt(connection: ConnectionState, retryAfterMs?: number): void {
    if (connection.closeRequestId !== undefined) this.#confirmClose(connection);
    else this.returns.failed(connection, retryAfterMs);
  }

  /** Kept events that the engine has not taken, and never will. */
  displaced(id: number, count: number): void {
    if (count > 0) this.#answer({ op: 'displaced', id, count });
  }

  /** Drops all connections at once, without reports. */
  destroy(): void {
    this.returns.close();
    this.table.destroy();
  }
}
