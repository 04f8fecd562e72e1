/** The connections that a fleet process holds, and how one of them ends. */
import type { FailureCode } from '../../../../protocol/codes/failure-codes.ts';
import type { FaultCounts } from '../../../../protocol/link/fault.ts';
import type { Parts } from '../parts.ts';
import type { Connection, EmitCommand, PendingNamespace } from './connection.ts';
import { ConnectionTable } from './connection-table.ts';
import { FaultAccount } from './fault-account.ts';
import { Returns, type ReturnsCalls } from './returns.ts';

interface Failure {
  cause: FailureCode;
  message: string;
  data?: unknown;
  retryAfterMs?: number | undefined;
}

export class HeldConnections {
  readonly table: ConnectionTable;
  readonly returns: Returns;
  /** Once a planned fault has begun. */
  fault: FaultAccount | undefined;
  readonly #parts: Parts;
  readonly #reusesSlots: boolean;

  constructor(parts: Parts, calls: ReturnsCalls) {
    this.#parts = parts;
    const { ledger, settings } = parts;
    const reconnects = settings.reconnection !== undefined;
    // Those that come back have the slots that they had.
    this.#reusesSlots = !ledger.remembers && !reconnects;
    this.table = new ConnectionTable({ reconnects, reusesSlots: this.#reusesSlots });
    this.returns = new Returns(parts, this.table, calls);
  }

  /** @returns the connections that were open */
  beginFault(atUs: number): Connection[] {
    const open = this.table.open();
    this.fault = new FaultAccount(atUs, open, this);
    return open;
  }

  faultCounts(): { fault?: FaultCounts } {
    return this.fault ? { fault: this.fault.read() } : {};
  }

  /** The `open` command fails, with what was to be sent then. */
  fail({ requestId, emits }: PendingNamespace, failure: Failure): void {
    this.#parts.answer({ op: 'failed', requestId, ...failure });
    for (const emit of emits) this.failEmit(emit, failure);
  }

  failAll(connection: Connection, failure: Failure): void {
    for (const pending of connection.takeAllPending()) this.fail(pending, failure);
  }

  failEmit({ requestId }: EmitCommand, { cause, message }: Failure): void {
    if (requestId !== undefined) this.#parts.answer({ op: 'failed', requestId, cause, message });
  }

  /** The client has ended; the engine can open the connection again. */
  drop(connection: Connection, reason: string): void {
    const { client } = connection;
    if (!client) return;
    const { acknowledgements, messages, ledger, counts } = this.#parts;
    acknowledgements.left(client, reason);
    messages.disconnected(connection);
    this.table.releaseSlot(client);
    if (this.#reusesSlots) ledger.members.forget(client.slot);
    counts.dropped(connection);
    connection.client = undefined;
    connection.open = false;
  }

  /** An attempt to open it has failed. */
  endAttempt(connection: Connection, reason: string, retryAfterMs?: number): void {
    this.drop(connection, reason);
    if (connection.closeRequestId !== undefined) this.leave(connection, reason);
    else this.returns.failed(connection, retryAfterMs);
  }

  /** As its virtual user has asked for. */
  leave(connection: Connection, reason = 'closed by the virtual user'): void {
    const { closeRequestId: requestId } = connection;
    this.drop(connection, reason);
    this.failAll(connection, { cause: 'closed', message: reason });
    this.returns.cancel(connection);
    this.table.delete(connection.id);
    this.displaced(connection.id, connection.listening?.displaced ?? 0);
    if (requestId !== undefined) this.#parts.answer({ op: 'left', requestId });
  }

  /** Held events that the engine has not taken, and never will. */
  displaced(id: number, count: number): void {
    if (count > 0) this.#parts.answer({ op: 'displaced', id, count });
  }

  /** Drops all connections at once, without reports. */
  destroy(): void {
    this.returns.close();
    this.table.destroy();
  }
}
