/** Holds the connections of a fleet process by their number, and passes each command to its connection. */
import { getOrAdd } from '../../../../protocol/base/get-or-add.ts';
import type { ConnectionCommand } from '../../fleet-messages.ts';
import type { FleetProcessParts } from '../process-parts.ts';
import { Connection } from './connection.ts';
import { failEmit, NOT_CONNECTED_FAILURE } from './pending-namespace.ts';

export class ConnectionTable {
  readonly #parts: FleetProcessParts;
  readonly #byId = new Map<number, Connection>();

  constructor(parts: FleetProcessParts) {
    this.#parts = parts;
  }

  find(id: number): Connection | undefined {
    return this.#byId.get(id);
  }

  open(): Connection[] {
    return [...this.#byId.values()].filter((connection) => connection.open);
  }

  run(command: ConnectionCommand): void {
    const { id, op } = command;
    const { repeatedMessages, answer } = this.#parts;
    if (op === 'repeat' && command.message) repeatedMessages.define(command.key, command.message);
    const isNew = op === 'open' || op === 'close' || (op === 'listen' && command.mode !== 'drop');
    const connection = isNew ? getOrAdd(this.#byId, id, () => new Connection(id, this.#parts)) : this.#byId.get(id);
    // A connection may have ended before the engine's command arrived.
    if (connection) connection.run(command);
    else if (op === 'emit') failEmit(command, NOT_CONNECTED_FAILURE, answer);
  }

  delete(id: number): void {
    this.#byId.delete(id);
  }

  /** Drops all connections at once, without a report to the engine. */
  destroy(): void {
    for (const { client } of this.#byId.values()) client?.destroy();
    this.#byId.clear();
  }
}
