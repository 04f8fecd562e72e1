/** The connections of a fleet process, found by the engine's id or by the slot of their client. */
import type { Client } from '../client.ts';
import { type ConnectionState, newConnectionState } from './connection-state.ts';
import { newHome } from './home.ts';

export class ConnectionTable {
  readonly #byId = new Map<number, ConnectionState>();
  readonly #bySlot: (ConnectionState | undefined)[] = [];
  readonly #reconnects: boolean;

  /** @param reconnects whether connections are to keep what they need to come back */
  constructor(reconnects: boolean) {
    this.#reconnects = reconnects;
  }

  find(id: number): ConnectionState | undefined {
    return this.#byId.get(id);
  }

  findOrAdd(id: number): ConnectionState {
    let connection = this.#byId.get(id);
    if (!connection) {
      connection = newConnectionState(id, this.#reconnects ? newHome() : undefined);
      this.#byId.set(id, connection);
    }
    return connection;
  }

  /** @returns undefined once the client has been dropped */
  ofClient({ slot }: Client): ConnectionState | undefined {
    return this.#bySlot[slot];
  }

  /** @returns the slot of the connection's next client; slots are never reused */
  assignSlot(connection: ConnectionState): number {
    return this.#bySlot.push(connection) - 1;
  }

  /** The connection's next client has the slot that it had before. */
  keepSlot(connection: ConnectionState, slot: number): number {
    this.#bySlot[slot] = connection;
    return slot;
  }

  releaseSlot({ slot }: Client): void {
    this.#bySlot[slot] = undefined;
  }

  delete(id: number): void {
    this.#byId.delete(id);
  }

  /** Destroys all clients at once, without reports. */
  destroy(): void {
    for (const connection of this.#byId.values()) connection.client?.destroy();
    this.#byId.clear();
  }
}
