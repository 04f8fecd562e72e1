/** The light connections of a process, and the timers that check their timeouts. */
import { BufferBudget } from './buffer-budget.ts';
import { dial } from './sockets/dial.ts';

/** A connection whose timeouts the pool checks. Times are those of `nowMs()`. */
export interface Watched {
  /** When to give up waiting: for a stage of connecting, an answer, or the end. 0 is never. */
  deadlineMs: number;
  /** When the server's next ping must have come, in protocols that have pings. 0 is never. */
  pingDeadlineMs: number;
  onDeadline(): void;
  onPingOverdue(): void;
  destroy(): void;
}

/** How late a timeout can be noticed. */
const DEADLINE_EVERY_MS = 50;
const PING_EVERY_MS = 1000;

/** Owns the sockets of its connections and the timers for their timeouts: end it with `close()`. */
export class ConnectionPool {
  /** When the current chunk arrived. */
  receivedAtUs = 0;
  readonly buffers = new BufferBudget();
  /** @throws for an impossible source address or certificate */
  readonly dial: typeof dial;
  readonly #live = new Set<Watched>();
  /** The live connections with a deadline: few, so that they can be checked often. */
  readonly #waiting = new Set<Watched>();
  readonly #timers: NodeJS.Timeout[];

  /** @param openWire connects the sockets; tests can replace it */
  constructor(openWire = dial) {
    this.dial = openWire;
    // setImmediate runs after the sockets have been read: if this process is late, answers in the kernel still count.
    this.#timers = [
      setInterval(() => setImmediate(() => this.#checkDeadlines()), DEADLINE_EVERY_MS).unref(),
      setInterval(() => setImmediate(() => this.#checkPings()), PING_EVERY_MS).unref(),
    ];
  }

  /** Calls `onDeadline` and `onPingOverdue` of the connection from now on, when they are due. */
  watch(connection: Watched): void {
    this.#live.add(connection);
    this.#waiting.add(connection);
  }

  unwatch(connection: Watched): void {
    this.#live.delete(connection);
    this.#waiting.delete(connection);
  }

  /** Whole milliseconds, which V8 stores without an allocation. */
  nowMs(): number {
    return Math.floor(performance.now());
  }

  /** Drops all connections at once, without reports. Idempotent. */
  close(): void {
    for (const timer of this.#timers) clearInterval(timer);
    for (const connection of this.#live) connection.destroy();
  }

  #checkDeadlines(): void {
    const now = this.nowMs();
    for (const connection of this.#waiting) {
      if (connection.deadlineMs === 0) this.#waiting.delete(connection);
      else if (connection.deadlineMs <= now) connection.onDeadline();
    }
  }

  #checkPings(): void {
    this.buffers.recount();
    const now = this.nowMs();
    for (const connection of this.#live) {
      if (connection.pingDeadlineMs !== 0 && connection.pingDeadlineMs <= now) connection.onPingOverdue();
    }
  }
}
