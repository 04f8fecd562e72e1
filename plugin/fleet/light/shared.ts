/** What the connections of a process and their pool know of each other. */
import type { BufferBudget } from './buffer-budget.ts';
import type { Wire, WireListener } from './sockets/wire.ts';
import type { Destination, WebSocketOptions } from './websocket/handshake.ts';

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

/** Shared by all connections of a process. */
export interface Shared {
  /** When the current chunk arrived. */
  receivedAtUs: number;
  readonly buffers: BufferBudget;
  /** @throws for an impossible source address or certificate */
  dial(listener: WireListener, destination: Destination, options: WebSocketOptions): Wire;
  /** Calls `onDeadline` and `onPingOverdue` of the connection from now on, when they are due. */
  watch(connection: Watched): void;
  unwatch(connection: Watched): void;
  nowMs(): number;
}
