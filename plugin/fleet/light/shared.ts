/** What the connections of a process and their pool know of each other. */
import type { UpgradePlan, WebSocketOptions } from './handshake.ts';
import type { Wire, WireListener } from './wire.ts';

/** What the clock needs of a connection. Times are those of `nowMs()`. */
export interface Watched {
  /** When to give up what is being waited for: a stage of connecting, an answer, the end. 0 is never. */
  deadlineMs: number;
  /** When the server's next ping must have come, in protocols that have pings. 0 is never. */
  pingDeadlineMs: number;
  onDeadline(): void;
  onPingOverdue(): void;
  destroy(): void;
}

/** What all connections of a process have in common. */
export interface Shared {
  /** When the chunk that is being read arrived. */
  receivedAtUs: number;
  /** @throws for an impossible source address or certificate */
  dial(listener: WireListener, plan: UpgradePlan, options: WebSocketOptions): Wire;
  /** From now on `onDeadline` and `onPingOverdue` are called when their time has come. */
  watch(connection: Watched): void;
  unwatch(connection: Watched): void;
  nowMs(): number;
}
