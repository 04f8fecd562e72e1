/** The connections of a fleet process, found by the engine's id or by the slot of their client. */
import type { Client } from '../../client/client.ts';
import { Connection } from './connection.ts';

export class ConnectionTable {
  readonly #reusesSlots: boolean;
  readonly #byId = new Map<number, Connection>();
  readonly #bySlot: (Connection | undefined)[] = [];
  readonly #free: number[] = [];
  readonly #reconnects: boolean;

  /**
   * @param reconnects whether connections are to keep what they need to come back
   * @param reusesSlots nobody asks for connections that have left, so that only those that exist take memory
   */
  constructor({ reconnects, reusesSlots }: { reconnects: boolean; reusesSlots: boolean }) {
    this.#reconnects = reconnects;
    this.#reusesSlots = reusesSlots;
  }

  find(id: number): Connection | undefined {
    return this.#byId.get(id);
  }

  /** Those that are open now. */
  open(): Connection[] {
    return [...this.#byId.values()].filter((connection) => connection.open);
  }

  findOrAdd(id: number): Connection {
    let connection = this.#byId.get(id);
    if (!connection) {
      connection = new Connection(id, this.#reconnects);
      this.#byId.set(id, connection);
    }
    return connection;
  }

  /** @returns undefined once the client has been dropped */
  ofClient(client: Client): Connection | undefined {
    const connection = this.#bySlot[client.slot];
    // A client that was dropped may still report, when another one has its slot.
    return connection?.client === client ? connection : undefined;
  }

  /** @returns the slot of the connection's next client: a free one, or the one that it had before */
  assignSlot(connection: Connection, slot = this.#free.pop() ?? this.#bySlot.length): number {
    this.#bySlot[slot] = connection;
    return slot;
  }

  releaseSlot({ slot }: Client): void {
    this.#bySlot[slot] = undefined;
    if (this.#reusesSlots) this.#free.push(slot);
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
