/** What a fleet process counts of its connections, since its start or its last reset. */
import type { FailureCode } from '../../protocol/failure-codes.ts';
import type { ConnectionState } from './connection-state.ts';

export class Counts {
  /** Transports begun, repeats included. */
  attempts = 0;
  /** Of these, how many got as far as their first namespace. */
  opened = 0;
  /** Now. */
  connecting = 0;
  /** Now. */
  connected = 0;
  ignoredEvents = 0;
  receivedBytes = 0;
  sentBytes = 0;
  /** By cause. */
  readonly attemptFailures: Record<string, number> = {};
  /** By Socket.IO's reason. */
  readonly disconnects: Record<string, number> = {};
  /** Connected now, by the worker's name; without connections whose worker is unknown. */
  readonly perWorker: Record<string, number> = {};

  failed(cause: FailureCode): void {
    add(this.attemptFailures, cause, 1);
  }

  ended(reason: string): void {
    add(this.disconnects, reason, 1);
  }

  /** @param worker `''` for none */
  assign(connection: ConnectionState, worker: string): void {
    if (connection.worker === worker) return;
    if (connection.worker !== '') add(this.perWorker, connection.worker, -1);
    if (worker !== '') add(this.perWorker, worker, 1);
    connection.worker = worker;
  }
}

function add(counts: Record<string, number>, key: string, count: number): void {
  counts[key] = (counts[key] ?? 0) + count;
}
