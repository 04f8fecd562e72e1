/** The light connections of a process, with the timers for their timeouts. */
import { BufferBudget } from './buffer-budget.ts';
import { dial } from './sockets/dial.ts';

/** A connection whose timeouts the pool checks. Times are on the clock of `nowMs()`. */
export interface Watched {
  /** Deadline of the current wait: a connect stage, an answer, or the close. 0 for none. */
  deadlineMs: number;
  /** Time by which the server's next ping must have arrived. 0 for none. */
  pingDeadlineMs: number;
  onDeadline(): void;
  onPingOverdue(): void;
  destroy(): void;
}

/** Intervals of the checks, by which a timeout can be late. */
const DEADLINE_EVERY_MS = 50;
const PING_EVERY_MS = 1000;

/** Owns the sockets of its connections and their timers; must be closed with `close()`. */
export class ConnectionPool {
  /** Arrival time of the current chunk. */
  receivedAtUs = 0;
  readonly buffers = new BufferBudget();
  /** @throws Error for an invalid source address or certificate */
  readonly dial: typeof dial;
  readonly #live = new Set<Watched>();
  /** Connections with a deadline: few, so they can be checked often. */
  readonly #waiting = new Set<Watched>();
  readonly #timers: NodeJS.Timeout[];

  /** @param openWire opens the sockets; replaced in tests */
  constructor(openWire = dial) {
    this.dial = openWire;
    // setImmediate runs after the sockets have been read, so that answers already in the kernel count even if this process is late.
    this.#timers = [
      setInterval(() => setImmediate(() => this.#checkDeadlines()), DEADLINE_EVERY_MS).unref(),
      setInterval(() => setImmediate(() => this.#checkPings()), PING_EVERY_MS).unref(),
    ];
  }

  /** Begins to check the connection's timeouts. */
  watch(connection: Watched): void {
    this.#live.add(connection);
    this.#waiting.add(connection);
  }

  unwatch(connection: Watched): void {
    this.#live.delete(connection);
    this.#waiting.delete(connection);
  }

  /** Returns whole milliseconds, which V8 stores without an allocation. */
  nowMs(): number {
    return Math.floor(performance.now());
  }

  /** Destroys all connections at once, without reporting it. Idempotent. */
  close(): void {
    for (const timer of this.#timers) clearInterval(timer);
    for (const connection of this.#live) connection.destroy();
  }

  #checkDeadlines(): void {
    const nowMs = this.nowMs();
    for (const connection of this.#waiting) {
      if (connection.deadlineMs === 0) this.#waiting.delete(connection);
      else if (connection.deadlineMs <= nowMs) connection.onDeadline();
    }
  }

  #checkPings(): void {
    this.buffers.recount();
    const nowMs = this.nowMs();
    for (const connection of this.#live) {
      if (connection.pingDeadlineMs !== 0 && connection.pingDeadlineMs <= nowMs) connection.onPingOverdue();
    }
  }
}
