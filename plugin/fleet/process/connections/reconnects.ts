/**
 * Reconnects dropped connections as socket.io-client does: the delay doubles with each attempt. Unless the server has
 * restored the session, joins are sent again, as in an application's `connect` handler.
 */
import { monotonicUs } from '../../../../protocol/base/clock/clock.ts';
import { createHistogram, encodeHistogram, recordUs } from '../../../../protocol/base/histogram.ts';
import type { ReconnectCounts } from '../../../../protocol/link/snapshot.ts';
import type { Backoff } from '../../../../protocol/wire/connection.ts';
import { retryDelayMs } from '../../backoff.ts';
import type { Client, RecoverableSession } from '../../client/client.ts';
import type { EmitCommand, FleetAnswer } from '../../fleet-messages.ts';
import type { AckConnection, Acknowledgements } from '../acknowledgements.ts';

/**
 * Socket.IO's disconnect reason when the server closed the connection. socket.io-client does not reconnect after it.
 */
const SENT_AWAY = 'io server disconnect';

/** State of a dropped connection until all its namespaces are open again. */
export interface DroppedConnectionState {
  readonly reason: string;
  readonly sinceUs: number;
  readonly sessions: readonly RecoverableSession[];
  attempts: number;
  /** Cause of the last failed attempt to reconnect. */
  failure?: string;
  /** Namespaces that the server has not opened again yet. */
  waiting: readonly string[];
  /** Namespaces whose sessions the server has restored. */
  restored: readonly string[];
  /** Whether the transport is open again. */
  isBack: boolean;
}

/** A message that makes the connection a member of a room. */
interface Join {
  namespace: string;
  event: string;
  args: unknown[];
}

export const NO_JOINS: readonly Join[] = [];

/** Fields of a connection that are needed to reconnect it. */
export interface ReturningConnection extends AckConnection {
  readonly client: Client | undefined;
  /** Joins to send again after a reconnect. */
  readonly joins: readonly Join[];
  readonly isClosing: boolean;
  away: DroppedConnectionState | undefined;
  reconnect(): void;
  send(command: EmitCommand): void;
}

export class Reconnects {
  readonly #backoff: Backoff | undefined;
  readonly #acknowledgements: Acknowledgements;
  readonly #answer: (answer: FleetAnswer) => void;
  #isClosed = false;
  readonly #awayUs = createHistogram();
  /**
   * Counts of the connections that have dropped, reconnected and so on so far, and of reconnect attempts. Only `away`
   * is a current number: the connections that are dropped now.
   */
  readonly counts = { dropped: 0, away: 0, returned: 0, recovered: 0, gaveUp: 0, left: 0, retries: 0 };

  /**
   * Prepares to reconnect connections.
   * @param backoff delays between attempts; undefined to never reconnect
   */
  constructor(backoff: Backoff | undefined, acknowledgements: Acknowledgements, answer: (answer: FleetAnswer) => void) {
    this.#backoff = backoff;
    this.#acknowledgements = acknowledgements;
    this.#answer = answer;
  }

  snapshot(): ReconnectCounts {
    return { ...this.counts, awayUs: encodeHistogram(this.#awayUs) };
  }

  /**
   * Handles an open connection that has dropped.
   * @returns whether it will reconnect
   */
  begin(connection: ReturningConnection, { namespaces, sessions }: Client, reason: string): boolean {
    const waiting = namespaces.concat(connection.away?.waiting ?? []);
    connection.away = undefined;
    if (this.#backoff === undefined || reason === SENT_AWAY) return false;
    this.counts.dropped++;
    this.counts.away++;
    connection.away = {
      ...{ reason, sessions, sinceUs: monotonicUs(), attempts: 0, waiting },
      ...{ restored: [], isBack: false },
    };
    this.schedule(connection);
    return true;
  }

  /** Schedules the next attempt to reconnect, or gives up after the last attempt. */
  schedule(connection: ReturningConnection): void {
    const { away } = connection;
    if (!away || this.#backoff === undefined) return;
    if (away.attempts >= this.#backoff.attempts) this.#giveUp(connection, away);
    else setTimeout(() => this.#try(connection, away), retryDelayMs(this.#backoff, away.attempts + 1)).unref();
  }

  /** Stops reconnecting a connection that the virtual user has closed. */
  cancel(connection: ReturningConnection): void {
    if (!connection.away) return;
    if (!connection.away.isBack) {
      this.counts.away--;
      this.counts.left++;
    }
    connection.away = undefined;
  }

  /** Records that a dropped connection has its transport and its first namespace open again. */
  reconnected(away: DroppedConnectionState): void {
    away.isBack = true;
    this.counts.away--;
    this.counts.returned++;
    recordUs(this.#awayUs, monotonicUs() - away.sinceUs);
  }

  /** Handles the server's answer for one namespace of a reconnected connection. */
  settled(
    connection: ReturningConnection,
    namespace: string,
    as: 'opened' | 'restored' | 'refused',
    refusal?: string,
  ): void {
    const { away } = connection;
    if (!away?.waiting.includes(namespace)) return;
    away.waiting = away.waiting.filter((other) => other !== namespace);
    if (as === 'refused') this.#report(connection, namespace, away.reason, 0, refusal);
    else {
      this.#report(connection, namespace, undefined, away.attempts - 1);
      away.attempts = 1; // Retries are reported only once, with the connection's first namespace.
    }
    if (as === 'restored') away.restored = away.restored.concat(namespace);
    if (away.waiting.length === 0) this.#complete(connection, away);
  }

  close(): void {
    this.#isClosed = true;
  }

  #report(
    { id }: AckConnection,
    namespace: string | undefined,
    lostBy: string | undefined,
    retries: number,
    why?: string,
  ): void {
    this.#answer({ op: 'returned', id, namespace, lostBy, retries, ...(why !== undefined && { why }) });
  }

  #giveUp(connection: ReturningConnection, { reason, attempts, failure }: DroppedConnectionState): void {
    this.counts.away--;
    this.counts.gaveUp++;
    connection.away = undefined;
    this.#report(connection, undefined, reason, Math.max(0, attempts - 1), failure);
  }

  /** Starts an attempt to reconnect, unless the connection has been closed meanwhile. */
  #try(connection: ReturningConnection, away: DroppedConnectionState): void {
    if (this.#isClosed || connection.away !== away || connection.isClosing) return;
    away.attempts++;
    if (away.attempts > 1) this.counts.retries++;
    connection.reconnect();
  }

  /** Completes a reconnect when the server has answered for all namespaces. */
  #complete(connection: ReturningConnection, { restored, sessions }: DroppedConnectionState): void {
    const { client, id } = connection;
    const { namespaces = [] } = client ?? {};
    connection.away = undefined;
    const joins = connection.joins.filter(({ namespace }) => namespaces.includes(namespace));
    // A session without a received event has no offset, so the server cannot restore it.
    const counting = joins.length > 0 ? joins.map(({ namespace }) => namespace) : namespaces;
    if (restored.length > 0 && counting.every((namespace) => restored.includes(namespace))) {
      this.counts.recovered++;
      this.#acknowledgements.recovered(connection);
      return;
    }
    // Sessions were not restored, so the connection gets a new slot in the ledger.
    if (sessions.length > 0) this.#acknowledgements.replaceSlot(connection);
    this.#acknowledgements.connected(connection, namespaces);
    for (const join of joins) connection.send({ op: 'emit', id, ...join });
  }
}
