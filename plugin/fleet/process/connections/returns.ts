/**
 * Brings dropped connections back, as socket.io-client would: after a delay that doubles with each attempt. The joins are
 * repeated, as an application's `connect` handler repeats them, unless the server has restored the session.
 */
import { monotonicUs } from '../../../../protocol/clock/clock.ts';
import { createHistogram, encodeHistogram, recordUs } from '../../../../protocol/histogram.ts';
import type { ReturnCounts } from '../../../../protocol/link/snapshot.ts';
import { retryDelayMs } from '../../backoff.ts';
import type { Client } from '../../client/client.ts';
import type { Parts } from '../parts.ts';
import { TimerWheel } from '../timer-wheel.ts';
import { type Absence, type Connection, type EmitCommand, without } from './connection.ts';

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
  readonly #wheel = new TimerWheel<[Connection, Absence]>((waiting) => this.#try(...waiting));
  readonly #awayUs = createHistogram();
  readonly #counts = { dropped: 0, away: 0, returned: 0, recovered: 0, gaveUp: 0, left: 0, retries: 0 };

  constructor(parts: Parts, held: Slots, calls: ReturnsCalls) {
    this.#parts = parts;
    this.#held = held;
    this.#calls = calls;
  }

  /** Connections that are to come back now. */
  get away(): number {
    return this.#counts.away;
  }

  /** Sessions that the server has restored so far. */
  get recovered(): number {
    return this.#counts.recovered;
  }

  snapshot(): ReturnCounts {
    return { ...this.#counts, awayUs: encodeHistogram(this.#awayUs) };
  }

  /** An open connection has dropped. @returns whether it is to come back */
  begin(connection: Connection, { slot, sessions }: Client, reason: string): boolean {
    const { home } = connection;
    if (!home || reason === SENT_AWAY) return false;
    this.#counts.dropped++;
    this.#counts.away++;
    home.away = {
      ...{ reason, slot, sessions, sinceUs: monotonicUs(), attempts: 0, waiting: home.namespaces },
      ...{ isBack: false, isRecovered: false, isRenewed: false },
    };
    this.#schedule(connection, home.away, 0);
    return true;
  }

  /** An attempt has failed. */
  failed(connection: Connection, retryAfterMs = 0): void {
    const away = connection.home?.away;
    if (away) this.#schedule(connection, away, retryAfterMs);
  }

  /** The virtual user closes the connection. */
  cancel({ home }: Connection): void {
    if (!home?.away) return;
    if (!home.away.isBack) {
      this.#counts.away--;
      this.#counts.left++;
    }
    home.away = undefined;
  }

  /** The transport is open again, and its first namespace. */
  isBack(away: Absence): void {
    away.isBack = true;
    this.#counts.away--;
    this.#counts.returned++;
    recordUs(this.#awayUs, monotonicUs() - away.sinceUs);
  }

  /** A namespace is open again. @param isRecovered the server has restored its session */
  opened(connection: Connection, client: Client, namespace: string, isRecovered: boolean): void {
    const { away, joins } = connection.home ?? {};
    if (!away?.waiting.includes(namespace)) return;
    away.waiting = without(away.waiting, namespace);
    this.#report(connection, namespace, undefined, away.attempts - 1);
    away.attempts = 1; // its retries are reported once
    if (isRecovered) away.isRecovered = true;
    else if (!joins?.length || joins.some((join) => join.namespace === namespace)) {
      this.#renew(connection, client, away, namespace);
    }
    if (away.isRenewed) this.#repeatJoins(connection, namespace);
    this.#endIfComplete(connection, client, away);
  }

  /** A namespace was refused, and another one is back. */
  refused(connection: Connection, client: Client, namespace: string): void {
    const { away } = connection.home ?? {};
    if (!away?.waiting.includes(namespace)) return;
    away.waiting = without(away.waiting, namespace);
    connection.forgetNamespace(namespace);
    this.#report(connection, namespace, away.reason, 0);
    this.#endIfComplete(connection, client, away);
  }

  close(): void {
    this.#wheel.close();
  }

  #report({ id }: Connection, namespace: string | undefined, lostBy: string | undefined, retries: number): void {
    this.#parts.answer({ op: 'returned', id, namespace, lostBy, retries });
  }

  #schedule(connection: Connection, away: Absence, retryAfterMs: number): void {
    const { reconnection } = this.#parts.settings;
    const isLast = reconnection === undefined || away.attempts >= reconnection.attempts;
    const delayMs = isLast ? undefined : retryDelayMs(reconnection, away.attempts + 1, retryAfterMs);
    if (delayMs === undefined) this.#giveUp(connection, away);
    else this.#wheel.add([connection, away], delayMs);
  }

  #giveUp(connection: Connection, { reason, attempts }: Absence): void {
    this.#counts.away--;
    this.#counts.gaveUp++;
    if (connection.home) connection.home.away = undefined;
    this.#report(connection, undefined, reason, Math.max(0, attempts - 1));
  }

  /** Unless it has been closed meanwhile. */
  #try(connection: Connection, away: Absence): void {
    if (connection.home?.away !== away || connection.closeRequestId !== undefined) return;
    away.attempts++;
    if (away.attempts > 1) this.#counts.retries++;
    this.#calls.attempt(connection);
  }

  /** The session is a new one, so the ledger gets a new connection. @param except its joins are repeated by the caller */
  #renew(connection: Connection, client: Client, away: Absence, except?: string): void {
    if (away.isRenewed) return;
    away.isRenewed = true;
    if (client.slot === away.slot) {
      this.#held.releaseSlot(client);
      client.slot = this.#held.assignSlot(connection);
    }
    this.#parts.acknowledgements.connected(client);
    for (const namespace of connection.home?.namespaces ?? []) {
      if (namespace !== except && !away.waiting.includes(namespace)) this.#repeatJoins(connection, namespace);
    }
  }

  #repeatJoins(connection: Connection, namespace: string): void {
    for (const join of connection.home?.joins ?? []) {
      if (join.namespace === namespace) this.#calls.send(connection, { op: 'emit', id: connection.id, ...join });
    }
  }

  /** All namespaces are back, or refused. */
  #endIfComplete(connection: Connection, client: Client, away: Absence): void {
    if (away.waiting.length > 0 || !connection.home) return;
    connection.home.away = undefined;
    if (away.isRecovered && !away.isRenewed) {
      this.#counts.recovered++;
      this.#parts.acknowledgements.recovered(client, connection);
    } else this.#renew(connection, client, away);
  }
}
