/**
 * Brings dropped connections back, as socket.io-client would: after a delay that doubles with each attempt. The joins are
 * repeated, as an application's `connect` handler repeats them, unless the server has restored the session.
 */
import { monotonicUs } from '../../../../protocol/base/clock/clock.ts';
import { createHistogram, encodeHistogram, recordUs } from '../../../../protocol/base/histogram.ts';
import type { ReturnCounts } from '../../../../protocol/link/snapshot.ts';
import { retryDelayMs } from '../../backoff.ts';
import type { Client } from '../../client/client.ts';
import type { Parts } from '../process-parts.ts';
import { type Absence, type Connection, type EmitCommand, without } from './fleet-connection.ts';

/** Socket.IO's reason for a connection that the server itself ended: socket.io-client does not come back then. */
const SENT_AWAY = 'io server disconnect';

export interface ReturnsCalls {
  /** Gives the connection a new client, and connects it. */
  attempt: (connection: Connection) => void;
  send: (connection: Connection, command: EmitCommand) => void;
}

/** By which the ledger knows connections. */
interface Slots {
  assignSlot(connection: Connection): number;
  releaseSlot(client: Client): void;
}

export class Returns {
  readonly #parts: Parts;
  readonly #held: Slots;
  readonly #calls: ReturnsCalls;
  #isClosed = false;
  readonly #awayUs = createHistogram();
  /** `away`: now; all others so far. */
  readonly counts = { dropped: 0, away: 0, returned: 0, recovered: 0, gaveUp: 0, left: 0, retries: 0 };

  constructor(parts: Parts, held: Slots, calls: ReturnsCalls) {
    this.#parts = parts;
    this.#held = held;
    this.#calls = calls;
  }

  snapshot(): ReturnCounts {
    return { ...this.counts, awayUs: encodeHistogram(this.#awayUs) };
  }

  /** An open connection has dropped. @returns whether it is to come back */
  begin(connection: Connection, { slot, sessions }: Client, reason: string): boolean {
    const { home } = connection;
    if (!home || reason === SENT_AWAY) return false;
    this.counts.dropped++;
    this.counts.away++;
    home.away = {
      ...{ reason, slot, sessions, sinceUs: monotonicUs(), attempts: 0, waiting: home.namespaces },
      ...{ isBack: false, restored: [] },
    };
    this.schedule(connection);
    return true;
  }

  /** The next attempt of one that is away, if there is to be any. */
  schedule(connection: Connection): void {
    const { reconnection } = this.#parts.settings;
    const { away } = connection.home ?? {};
    if (!away) return;
    if (reconnection === undefined || away.attempts >= reconnection.attempts) this.#giveUp(connection, away);
    else setTimeout(() => this.#try(connection, away), retryDelayMs(reconnection, away.attempts + 1)).unref();
  }

  /** The virtual user closes the connection. */
  cancel({ home }: Connection): void {
    if (!home?.away) return;
    if (!home.away.isBack) {
      this.counts.away--;
      this.counts.left++;
    }
    home.away = undefined;
  }

  /** The transport is open again, and its first namespace. */
  isBack(away: Absence): void {
    away.isBack = true;
    this.counts.away--;
    this.counts.returned++;
    recordUs(this.#awayUs, monotonicUs() - away.sinceUs);
  }

  /** A namespace is open again, perhaps with its session restored; or it was refused, and another one is back. */
  settled(connection: Connection, client: Client, namespace: string, as: 'opened' | 'restored' | 'refused'): void {
    const { away } = connection.home ?? {};
    if (!away?.waiting.includes(namespace)) return;
    away.waiting = without(away.waiting, namespace);
    if (as === 'refused') {
      connection.forgetNamespace(namespace);
      this.#report(connection, namespace, away.reason, 0);
    } else {
      this.#report(connection, namespace, undefined, away.attempts - 1);
      away.attempts = 1; // its retries are reported once
    }
    if (as === 'restored') away.restored = away.restored.concat(namespace);
    this.#endIfComplete(connection, client, away);
  }

  close(): void {
    this.#isClosed = true;
  }

  #report({ id }: Connection, namespace: string | undefined, lostBy: string | undefined, retries: number): void {
    this.#parts.answer({ op: 'returned', id, namespace, lostBy, retries });
  }

  #giveUp(connection: Connection, { reason, attempts }: Absence): void {
    this.counts.away--;
    this.counts.gaveUp++;
    if (connection.home) connection.home.away = undefined;
    this.#report(connection, undefined, reason, Math.max(0, attempts - 1));
  }

  /** Unless it has been closed meanwhile. */
  #try(connection: Connection, away: Absence): void {
    if (this.#isClosed || connection.home?.away !== away || connection.closeRequestId !== undefined) return;
    away.attempts++;
    if (away.attempts > 1) this.counts.retries++;
    this.#calls.attempt(connection);
  }

  /** All namespaces are back, or refused. */
  #endIfComplete(connection: Connection, client: Client, away: Absence): void {
    const { home, id } = connection;
    if (away.waiting.length > 0 || !home) return;
    home.away = undefined;
    // A namespace without events has no offset, so its session is never restored.
    const counting = home.joins.length > 0 ? home.joins.map(({ namespace }) => namespace) : home.namespaces;
    if (away.restored.length > 0 && counting.every((namespace) => away.restored.includes(namespace))) {
      this.counts.recovered++;
      this.#parts.acknowledgements.recovered(client, connection);
      return;
    }
    // A new session, so the ledger gets a new connection.
    if (client.slot === away.slot) {
      this.#held.releaseSlot(client);
      client.slot = this.#held.assignSlot(connection);
    }
    this.#parts.acknowledgements.connected(client, connection, home.namespaces);
    for (const join of home.joins) this.#calls.send(connection, { op: 'emit', id, ...join });
  }
}
