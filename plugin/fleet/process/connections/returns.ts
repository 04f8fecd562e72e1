/**
 * Reconnects dropped connections as socket.io-client does: after a delay that doubles with each attempt. The joins are
 * repeated, as in an application's `connect` handler, unless the server has restored the session.
 */
import { monotonicUs } from '../../../../protocol/base/clock/clock.ts';
import { createHistogram, encodeHistogram, recordUs } from '../../../../protocol/base/histogram.ts';
import type { ReturnCounts } from '../../../../protocol/link/snapshot.ts';
import type { Backoff } from '../../../../protocol/wire/connection.ts';
import { retryDelayMs } from '../../backoff.ts';
import type { Client, RecoverableSession } from '../../client/client.ts';
import type { EmitCommand, FleetAnswer } from '../../fleet-messages.ts';
import type { Acknowledgements, Member } from '../acknowledgements.ts';

/** Socket.IO's reason when the server closed the connection: socket.io-client does not reconnect then. */
const SENT_AWAY = 'io server disconnect';

/** Time from a drop until all namespaces are open again. */
export interface Absence {
  readonly reason: string;
  readonly sinceUs: number;
  readonly sessions: readonly RecoverableSession[];
  attempts: number;
  /** Cause of the last failed attempt. */
  failure?: string;
  /** Namespaces that are not open again yet. */
  waiting: readonly string[];
  /** Namespaces whose sessions were restored. */
  restored: readonly string[];
  /** Whether the transport is open again. */
  isBack: boolean;
}

/** Messages that make the connection a member of a room. */
interface Join {
  namespace: string;
  event: string;
  args: unknown[];
}

export const NO_JOINS: readonly Join[] = [];

/** The part of a connection that reconnecting needs. */
export interface ReturningConnection extends Member {
  readonly client: Client | undefined;
  /** Joins that are sent again after a reconnect. */
  readonly joins: readonly Join[];
  readonly isClosing: boolean;
  away: Absence | undefined;
  reconnect(): void;
  send(command: EmitCommand): void;
}

export class Returns {
  readonly #backoff: Backoff | undefined;
  readonly #acknowledgements: Acknowledgements;
  readonly #answer: (answer: FleetAnswer) => void;
  #isClosed = false;
  readonly #awayUs = createHistogram();
  /** Counts so far; `away` counts the connections that are disconnected now. */
  readonly counts = { dropped: 0, away: 0, returned: 0, recovered: 0, gaveUp: 0, left: 0, retries: 0 };

  /** @param backoff undefined disables reconnecting */
  constructor(backoff: Backoff | undefined, acknowledgements: Acknowledgements, answer: (answer: FleetAnswer) => void) {
    this.#backoff = backoff;
    this.#acknowledgements = acknowledgements;
    this.#answer = answer;
  }

  snapshot(): ReturnCounts {
    return { ...this.counts, awayUs: encodeHistogram(this.#awayUs) };
  }

  /** Handles the drop of an open connection. @returns whether it will reconnect */
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

  /** Schedules the next attempt of a disconnected connection, or gives up after the last one. */
  schedule(connection: ReturningConnection): void {
    const { away } = connection;
    if (!away || this.#backoff === undefined) return;
    if (away.attempts >= this.#backoff.attempts) this.#giveUp(connection, away);
    else setTimeout(() => this.#try(connection, away), retryDelayMs(this.#backoff, away.attempts + 1)).unref();
  }

  /** Stops reconnecting, because the virtual user closes the connection. */
  cancel(connection: ReturningConnection): void {
    if (!connection.away) return;
    if (!connection.away.isBack) {
      this.counts.away--;
      this.counts.left++;
    }
    connection.away = undefined;
  }

  /** Records that the transport and its first namespace are open again. */
  reconnected(away: Absence): void {
    away.isBack = true;
    this.counts.away--;
    this.counts.returned++;
    recordUs(this.#awayUs, monotonicUs() - away.sinceUs);
  }

  /** Handles the answer for a namespace: it is open again, perhaps with its session restored, or it was refused. */
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
      away.attempts = 1; // retries are reported once
    }
    if (as === 'restored') away.restored = away.restored.concat(namespace);
    if (away.waiting.length === 0) this.#complete(connection, away);
  }

  close(): void {
    this.#isClosed = true;
  }

  #report(
    { id }: Member,
    namespace: string | undefined,
    lostBy: string | undefined,
    retries: number,
    why?: string,
  ): void {
    this.#answer({ op: 'returned', id, namespace, lostBy, retries, ...(why !== undefined && { why }) });
  }

  #giveUp(connection: ReturningConnection, { reason, attempts, failure }: Absence): void {
    this.counts.away--;
    this.counts.gaveUp++;
    connection.away = undefined;
    this.#report(connection, undefined, reason, Math.max(0, attempts - 1), failure);
  }

  /** Starts an attempt, unless the connection has been closed meanwhile. */
  #try(connection: ReturningConnection, away: Absence): void {
    if (this.#isClosed || connection.away !== away || connection.isClosing) return;
    away.attempts++;
    if (away.attempts > 1) this.counts.retries++;
    connection.reconnect();
  }

  /** Ends the absence after the last namespace was answered. */
  #complete(connection: ReturningConnection, { restored, sessions }: Absence): void {
    const { client, id } = connection;
    const { namespaces = [] } = client ?? {};
    connection.away = undefined;
    const joins = connection.joins.filter(({ namespace }) => namespaces.includes(namespace));
    // A namespace without events has no offset, so its session is never restored.
    const counting = joins.length > 0 ? joins.map(({ namespace }) => namespace) : namespaces;
    if (restored.length > 0 && counting.every((namespace) => restored.includes(namespace))) {
      this.counts.recovered++;
      this.#acknowledgements.recovered(connection);
      return;
    }
    // The connection had kept its slot in case its sessions were restored.
    if (sessions.length > 0) this.#acknowledgements.replaceSlot(connection);
    this.#acknowledgements.connected(connection, namespaces);
    for (const join of joins) connection.send({ op: 'emit', id, ...join });
  }
}
