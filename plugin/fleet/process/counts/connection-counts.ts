/** Counts of a fleet process's connections, since its start or its last reset. */
import { addOwn } from '../../../../protocol/base/sum-counts.ts';
import { countAckError, type KeepsSecrets } from '../../client/ack-errors.ts';
import type { Client, TransportState } from '../../client/client.ts';

export interface CountedConnection {
  readonly open: boolean;
  /** Worker from the session id, `''` until connected. */
  worker: string;
  /** Whether the server named the worker in the answer to a join; otherwise `worker` is the first part of the session id. */
  namedByJoin: boolean;
  /** Current transport, or the last one after a close; undefined before the first opening. */
  transport: TransportState | undefined;
  isUpgrading: boolean;
  /** Whether the connection is compressed, or was when last open. */
  isCompressed: boolean;
}

export class Counts {
  /** Connections that are connecting now. */
  connecting = 0;
  /** Connections that are open now. */
  connected = 0;
  /** Number of ended connections, and the sum of their open times in ms. */
  ended = { connections: 0, openMs: 0 };
  /** Acknowledgements that match no message, or are duplicates. */
  unknownAcks = 0;
  /** Acknowledgements of all messages. */
  acks = 0;
  /** Events dropped because the user's functions were too slow. */
  eventsDropped = 0;
  /** Acknowledgements that carry an error, by the error's text. */
  readonly ackErrors: Record<string, number> = {};
  /** Connections that have ever opened, by their current or last transport. */
  readonly transports: Record<TransportState, number> = { websocket: 0, upgraded: 0, polling: 0 };
  /** Connections that have ever opened and are compressed now, or were at their end. */
  compressed = 0;
  /** Polling connections that are about to change to WebSocket. */
  upgrading = 0;
  /** Connections that stayed on polling although the options ask for WebSocket, by cause. */
  readonly upgradeFailures: Record<string, number> = {};
  /** Open connections by the worker that their join named. */
  readonly perWorker: Record<string, number> = {};
  /**
   * Open connections without a named worker, by the first part of the session id. Only the tool's own servers put a worker's
   * name there.
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
   * Removes a connecting or open connection; its transport remains counted.
   * @param openMs time for which it was open; unused if it never was
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

  /** Copies transport and compression from the client of an open connection. */
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
   * @param worker `''` for none
   * @param namedByJoin whether the server itself named the worker
   */
  assign(connection: CountedConnection, worker: string, namedByJoin: boolean): void {
    this.#countWorker(connection, -1);
    connection.worker = worker;
    connection.namedByJoin = namedByJoin;
    this.#countWorker(connection, 1);
  }

  #countWorker({ worker, namedByJoin }: CountedConnection, change: number): void {
    if (worker !== '') addOwn(namedByJoin ? this.perWorker : this.perSessionPrefix, worker, change);
  }
}
