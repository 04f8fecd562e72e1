/** The connections that a fleet process holds, found by the engine's id or by the slot of their client; and how one of them ends. */
import { getOrAdd } from '../../../../protocol/base/get-or-add.ts';
import type { Client } from '../../client/client.ts';
import type { Failure } from '../../client/failure.ts';
import type { Parts } from '../process-parts.ts';
import { FaultAccount } from './fault-account.ts';
import { Connection, type EmitCommand, NONE_PENDING, type PendingNamespace } from './fleet-connection.ts';
import { Returns, type ReturnsCalls } from './returns.ts';

export class HeldConnections {
  readonly returns: Returns;
  /** Once a planned fault has begun. */
  fault: FaultAccount | undefined;
  readonly #parts: Parts;
  readonly #reconnects: boolean;
  readonly #byId = new Map<number, Connection>();
  readonly #bySlot = new Map<number, Connection>();
  #nextSlot = 0;

  constructor(parts: Parts, calls: ReturnsCalls) {
    this.#parts = parts;
    this.#reconnects = parts.settings.reconnection !== undefined;
    this.returns = new Returns(parts, this, calls);
  }

  find(id: number): Connection | undefined {
    return this.#byId.get(id);
  }

  findOrAdd(id: number): Connection {
    return getOrAdd(this.#byId, id, () => new Connection(id, this.#reconnects));
  }

  /** @returns undefined once the client has been dropped */
  ofClient(client: Client): Connection | undefined {
    const connection = this.#bySlot.get(client.slot);
    // A client that was dropped may still report, when the next one of its connection has its slot.
    return connection?.client === client ? connection : undefined;
  }

  /** @returns the slot of the connection's next client: a new one, or the one that it had before */
  assignSlot(connection: Connection, slot = this.#nextSlot++): number {
    this.#bySlot.set(slot, connection);
    return slot;
  }

  releaseSlot({ slot }: Client): void {
    this.#bySlot.delete(slot);
  }

  /** @returns the connections that were open */
  beginFault(atUs: number): Connection[] {
    const open = [...this.#byId.values()].filter((connection) => connection.open);
    this.fault = new FaultAccount(atUs, open, this);
    return open;
  }

  /** The `open` command fails, with what was to be sent then. */
  fail({ requestId, emits }: PendingNamespace, failure: Failure): void {
    this.#parts.answer({ op: 'failed', requestId, ...failure });
    for (const emit of emits) this.failEmit(emit, failure);
  }

  failAll(connection: Connection, failure: Failure): void {
    const all = connection.pending;
    connection.pending = NONE_PENDING;
    for (const pending of all) this.fail(pending, failure);
  }

  failEmit({ requestId }: EmitCommand, { cause, message }: Failure): void {
    if (requestId !== undefined) this.#parts.answer({ op: 'failed', requestId, cause, message });
  }

  /** The client has ended; the engine can open the connection again. */
  drop(connection: Connection, reason: string): void {
    const { client } = connection;
    if (!client) return;
    const { acknowledgements, messages, counts } = this.#parts;
    acknowledgements.left(client, reason);
    messages.disconnected(connection);
    this.releaseSlot(client);
    counts.dropped(connection);
    connection.client = undefined;
    connection.open = false;
  }

  /** An attempt to open it has failed. */
  endAttempt(connection: Connection, { message }: Failure): void {
    this.drop(connection, message);
    if (connection.closeRequestId !== undefined) this.leave(connection, message);
    else this.returns.schedule(connection);
  }

  /** As its virtual user has asked for. */
  leave(connection: Connection, reason = 'closed by the virtual user'): void {
    const { closeRequestId: requestId } = connection;
    this.drop(connection, reason);
    this.failAll(connection, { cause: 'closed', message: reason });
    this.returns.cancel(connection);
    this.#byId.delete(connection.id);
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
    for (const { client } of this.#byId.values()) client?.destroy();
    this.#byId.clear();
  }
}
