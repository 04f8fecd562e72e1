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
  /** Connected now, by the worker that their join named. */
  readonly perWorker: Record<string, number> = {};
  /** Connected now and named by no join, by the first part of the session id: a worker's name on our own servers only. */
  readonly perSessionPrefix: Record<string, number> = {};

  failed(cause: FailureCode): void {
    add(this.attemptFailures, cause, 1);
  }

  ended(reason: string): void {
    add(this.disconnects, reason, 1);
  }

  /**
   * @param worker `''` for none
   * @param namedByJoin the server itself named it
   */
  assign(connection: ConnectionState, worker: string, namedByJoin: boolean): void {
    this.#countWorker(connection, -1);
    connection.worker = worker;
    connection.namedByJoin = namedByJoin;
    this.#countWorker(connection, 1);
  }

  #countWorker({ worker, namedByJoin }: ConnectionState, change: number): void {
    if (worker !== '') add(namedByJoin ? this.perWorker : this.perSessionPrefix, worker, change);
  }
}

function add(counts: Record<string, number>, key: string, count: number): void {
  counts[key] = (counts[key] ?? 0) + count;
  if (counts[key] === 0) delete counts[key];
}
