/** Counts the connections of a fleet process since the last reset. */
import { addToOwnCounter } from '../../../../protocol/base/sum-counts.ts';
import { countAckError, type KeepsSecrets } from '../../client/ack-errors.ts';
import type { Client, TransportState } from '../../client/client.ts';

export interface CountedConnection {
  readonly open: boolean;
  /** Worker that holds the connection, from a join or the session id; `''` until connected. */
  worker: string;
  /**
   * Whether the server has named the worker in the acknowledgement of a join. If not, `worker` is the first part of the
   * session id.
   */
  namedByJoin: boolean;
  /** Transport of the connection; after its close, the last transport. Undefined before the connection first opens. */
  transport: TransportState | undefined;
  isUpgrading: boolean;
  /** Whether the connection uses compression; after a close, whether it did. */
  isCompressed: boolean;
}

export class ConnectionCounts {
  /** Number of connections that are connecting now. */
  connecting = 0;
  /** Number of connections that are open now. */
  connected = 0;
  /** Number of ended connections, and the sum of the times for which they were open, in milliseconds. */
  ended = { connections: 0, openMs: 0 };
  /** Number of received acknowledgements that match no sent message, or that are duplicates. */
  unknownAcks = 0;
  /** Number of received acknowledgements, for messages of any kind. */
  acks = 0;
  /** Number of received events that were dropped, because the user's functions were too slow for them. */
  eventsDropped = 0;
  /** Number of acknowledgements that carry an error, by the error's text. */
  readonly ackErrors: Record<string, number> = {};
  /** Number of connections that have opened at least once, by their current or last transport. */
  readonly transports: Record<TransportState, number> = { websocket: 0, upgraded: 0, polling: 0 };
  /** Number of connections that have opened at least once and use compression, or used it until they ended. */
  compressed = 0;
  /** Number of polling connections that are upgrading to WebSocket. */
  upgrading = 0;
  /** Number of connections that stayed on polling although the options ask for WebSocket, by cause. */
  readonly upgradeFailures: Record<string, number> = {};
  /** Number of open connections by the server's worker. Includes only connections whose join has named the worker. */
  readonly perWorker: Record<string, number> = {};
  /**
   * Number of open connections whose join has not named the worker, by the first part of the session id. The tool's own
   * servers put the worker's name there.
   */
  readonly perSessionPrefix: Record<string, number> = {};

  acknowledged(args: unknown[], connection: KeepsSecrets): void {
    this.acks++;
    countAckError(this.ackErrors, args, connection);
  }

  opened(connection: CountedConnection, client: Client, worker: string): void {
    this.connecting--;
    this.connected++;
    this.carry(connection, client);
    this.assign(connection, worker, false);
  }

  /**
   * Removes a connecting or open connection from the numbers of current connections.
   * @param openMs time for which it was open; ignored if it was not open
   */
  dropped(connection: CountedConnection, openMs: number): void {
    if (connection.open) {
      this.connected--;
      this.ended.connections++;
      this.ended.openMs += openMs;
    } else this.connecting--;
    this.assign(connection, '', false);
    this.#countUpgrading(connection, false);
  }

  /** Updates transport and compression of an open connection from its client. */
  carry(connection: CountedConnection, { transport, isUpgrading, isCompressed }: Client): void {
    if (connection.transport !== undefined) this.transports[connection.transport]--;
    this.transports[transport]++;
    connection.transport = transport;
    if (connection.isCompressed !== isCompressed) this.compressed += isCompressed ? 1 : -1;
    connection.isCompressed = isCompressed;
    this.#countUpgrading(connection, isUpgrading);
  }

  #countUpgrading(connection: CountedConnection, isUpgrading: boolean): void {
    if (connection.isUpgrading === isUpgrading) return;
    this.upgrading += isUpgrading ? 1 : -1;
    connection.isUpgrading = isUpgrading;
  }

  /**
   * Sets the server's worker that holds a connection.
   * @param worker `''` if no worker is known
   * @param namedByJoin whether the server has named the worker in the acknowledgement of a join
   */
  assign(connection: CountedConnection, worker: string, namedByJoin: boolean): void {
    this.#countWorker(connection, -1);
    connection.worker = worker;
    connection.namedByJoin = namedByJoin;
    this.#countWorker(connection, 1);
  }

  #countWorker({ worker, namedByJoin }: CountedConnection, change: number): void {
    if (worker !== '') addToOwnCounter(namedByJoin ? this.perWorker : this.perSessionPrefix, worker, change);
  }
}
