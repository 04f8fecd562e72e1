/** Counts of a fleet process's connections, since its start or its last reset. */
import { addOwn } from '../../../../protocol/base/sum-counts.ts';
import { countAckError, type KeepsSecrets } from '../../client/ack-errors.ts';
import type { Client, TransportState } from '../../client/client.ts';

/** The part of a connection that is counted. */
export interface CountedConnection {
  readonly open: boolean;
  /** Worker named by the session id, `''` until connected. */
  worker: string;
  /** The server named it in the answer to a join; otherwise it is the first part of the session id. */
  namedByJoin: boolean;
  /** Now, or when it was last open; undefined until it has opened. */
  transport: TransportState | undefined;
  isUpgrading: boolean;
  /** Like `transport`: now, or when it was last open. */
  isCompressed: boolean;
}

export class Counts {
  /** Now. */
  connecting = 0;
  /** Now. */
  connected = 0;
  /** Connections that have ended, and the time for which they were open in all, in ms. */
  ended = { connections: 0, openMs: 0 };
  /** Acknowledgements that match no message, or came twice. */
  unknownAcks = 0;
  /** Acknowledgements of all messages. */
  acks = 0;
  /** Events for functions that were too slow for them. */
  eventsDropped = 0;
  /** Acknowledgements that carry an error, by its words. */
  readonly ackErrors: Record<string, number> = {};
  /** Every connection that has ever opened, by the transport that it has now or had last. */
  readonly transports: Record<TransportState, number> = { websocket: 0, upgraded: 0, polling: 0 };
  /** Every connection that has ever opened, and whose WebSocket is compressed now, or was at its end. */
  compressed = 0;
  /** Connected by polling now, and about to change to WebSocket. */
  upgrading = 0;
  /** Connections that stayed on polling, although the options ask for WebSocket, by cause. */
  readonly upgradeFailures: Record<string, number> = {};
  /** Connected now, by the worker that their join named. */
  readonly perWorker: Record<string, number> = {};
  /** Connected now and named by no join, by the first part of the session id: a worker's name on our own servers only. */
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
   * Drops a connecting or open connection; its transport remains counted.
   * @param openMs how long it was open; unused if it never was
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

  /** Takes over the client's transport, and whether it is compressed, for an open connection. */
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
   * @param namedByJoin the server itself named it
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
