/**
 * Reconnects dropped connections, as socket.io-client would: after a delay that doubles with each attempt. The joins are
 * repeated, as an application's `connect` handler repeats them, unless the server has restored the session.
 */
import { monotonicUs } from '../../../../protocol/base/clock/clock.ts';
import { createHistogram, encodeHistogram, recordUs } from '../../../../protocol/base/histogram.ts';
import type { ReturnCounts } from '../../../../protocol/link/snapshot.ts';
import type { Backoff } from '../../../../protocol/wire/connection.ts';
import { retryDelayMs } from '../../backoff.ts';
import type { Client, RecoverableSession } from '../../client/client.ts';
import type { EmitCommand, FleetAnswer } from '../../fleet-messages.ts';
import type { Acknowledgements, Member } from '../acknowledgements.ts';

/** Socket.IO's reason for a connection that the server itself ended: socket.io-client does not reconnect then. */
const SENT_AWAY = 'io server disconnect';

/** From a drop until all namespaces are back. */
export interface Absence {
  /** Why it dropped. */
  readonly reason: string;
  readonly sinceUs: number;
  readonly sessions: readonly RecoverableSession[];
  attempts: number;
  /** Why the last attempt failed. */
  failure?: string;
  /** Namespaces that are not back yet. */
  waiting: readonly string[];
  /** Namespaces whose sessions were restored. */
  restored: readonly string[];
  /** The transport is open again. */
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
  /** Sent again after a reconnect. */
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
  /** `away`: now; all others so far. */
  readonly counts = { dropped: 0, away: 0, returned: 0, recovered: 0, gaveUp: 0, left: 0, retries: 0 };

  /** @param backoff undefined: no connection reconnects */
  constructor(backoff: Backoff | undefined, acknowledgements: Acknowledgements, answer: (answer: FleetAnswer) => void) {
    this.#backoff = backoff;
    this.#acknowledgements = acknowledgements;
    this.#answer = answer;
  }

  snapshot(): ReturnCounts {
    return { ...this.counts, awayUs: encodeHistogram(this.#awayUs) };
  }

  /** An open connection has dropped. @returns whether it will reconnect */
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

  /** The next attempt of one that is away, if there is to be any. */
  schedule(connection: ReturningConnection): void {
    const { away } = connection;
    if (!away || this.#backoff === undefined) return;
    if (away.attempts >= this.#backoff.attempts) this.#giveUp(connection, away);
    else setTimeout(() => this.#try(connection, away), retryDelayMs(this.#backoff, away.attempts + 1)).unref();
  }

  /** The virtual user closes the connection. */
  cancel(connection: ReturningConnection): void {
    if (!connection.away) return;
    if (!connection.away.isBack) {
      this.counts.away--;
      this.counts.left++;
    }
    connection.away = undefined;
  }

  /** The transport is open again, and its first namespace. */
  reconnected(away: Absence): void {
    away.isBack = true;
    this.counts.away--;
    this.counts.returned++;
    recordUs(this.#awayUs, monotonicUs() - away.sinceUs);
  }

  /** A namespace is open again, perhaps with its session restored; or it was refused, and another one is back. */
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
      away.attempts = 1; // its retries are reported once
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

  /** Unless it has been closed meanwhile. */
  #try(connection: ReturningConnection, away: Absence): void {
    if (this.#isClosed || connection.away !== away || connection.isClosing) return;
    away.attempts++;
    if (away.attempts > 1) this.counts.retries++;
    connection.reconnect();
  }

  /** All namespaces are back, or refused. */
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
    // It had kept its slot for the sessions.
    if (sessions.length > 0) this.#acknowledgements.replaceSlot(connection);
    this.#acknowledgements.connected(connection, namespaces);
    for (const join of joins) connection.send({ op: 'emit', id, ...join });
  }
}
