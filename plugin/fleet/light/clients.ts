/** The light clients of a process, and the one clock that watches over all of them. */
import type { Client, ClientOptions, ClientSink } from '../client.ts';
import { BroadcastReader } from './broadcast.ts';
import { LightConnection } from './connection.ts';
import { dial } from './dial.ts';
import type { EngineConnection, Shared } from './engine.ts';

/** How late a timeout may be noticed. */
const DEADLINE_EVERY_MS = 50;
const PING_EVERY_MS = 1000;

/**
 * Makes clients that speak Engine.IO 4 and Socket.IO 5 over WebSocket directly on TCP and TLS sockets, at a few KB
 * each. Owns their sockets and the timer for their timeouts: end it with `close()`.
 */
export class LightClients {
  readonly #live = new Set<EngineConnection>();
  /** Those among them that wait for something: few, so that they can be looked at often. */
  readonly #waiting = new Set<EngineConnection>();
  readonly #shared: Shared;
  readonly #timers: NodeJS.Timeout[];

  /** @param openWire what connects the sockets; a test may stand in for it */
  constructor(openWire: Shared['dial'] = dial) {
    this.#shared = {
      broadcasts: new BroadcastReader(),
      receivedAtUs: 0,
      dial: openWire,
      watch: (connection) => {
        this.#live.add(connection);
        this.#waiting.add(connection);
      },
      unwatch: (connection) => {
        this.#live.delete(connection);
        this.#waiting.delete(connection);
      },
      nowMs,
    };
    // After the sockets have been read: if this process is late, answers that wait in the kernel still count.
    this.#timers = [
      setInterval(() => setImmediate(() => this.#checkDeadlines()), DEADLINE_EVERY_MS).unref(),
      setInterval(() => setImmediate(() => this.#checkPings()), PING_EVERY_MS).unref(),
    ];
  }

  /** @param slot dense number, never reused: the ledger's index */
  create(slot: number, options: ClientOptions, sink: ClientSink): Client {
    return new LightConnection(slot, options, sink, this.#shared);
  }

  /** Drops all connections at once, without reports. Idempotent. */
  close(): void {
    for (const timer of this.#timers) clearInterval(timer);
    for (const connection of this.#live) connection.destroy();
  }

  #checkDeadlines(): void {
    const now = nowMs();
    for (const connection of this.#waiting) {
      if (connection.deadlineMs === 0) this.#waiting.delete(connection);
      else if (connection.deadlineMs <= now) connection.onDeadline();
    }
  }

  #checkPings(): void {
    const now = nowMs();
    for (const connection of this.#live) {
      if (connection.pingDeadlineMs !== 0 && connection.pingDeadlineMs <= now) connection.onPingOverdue();
    }
  }
}

/** Whole numbers, which V8 keeps without an allocation. */
function nowMs(): number {
  return Math.floor(performance.now());
}
