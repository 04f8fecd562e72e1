/**
 * Brings dropped connections back, as socket.io-client would: after a delay that doubles with each attempt. The joins are
 * repeated, as an application's `connect` handler repeats them, unless the server has restored the session.
 */
import { monotonicUs } from '../../../../protocol/clock/clock.ts';
import type { Backoff } from '../../../../protocol/connection.ts';
import { createHistogram, encodeHistogram, recordUs } from '../../../../protocol/histogram.ts';
import type { ReturnCounts } from '../../../../protocol/link/snapshot.ts';
import { retryDelayMs } from '../../backoff.ts';
import type { Client } from '../../client/client.ts';
import type { FleetAnswer } from '../../messages.ts';
import type { Acknowledgements } from '../messages/acknowledgements.ts';
import { TimerWheel } from '../timer-wheel.ts';
import type { ConnectionState, EmitCommand } from './connection-state.ts';
import type { ConnectionTable } from './connection-table.ts';
import { type Absence, without } from './home.ts';

/** Socket.IO's reason for a connection that the server itself ended: socket.io-client does not come back then. */
const SENT_AWAY = 'io server disconnect';

interface ReturnsDependencies {
  backoff: Backoff | undefined;
  table: ConnectionTable;
  acknowledgements: Acknowledgements;
  answer: (answer: FleetAnswer) => void;
  /** Gives the connection a new client, and connects it. */
  attempt: (connection: ConnectionState) => void;
  emit: (command: EmitCommand) => void;
}

export class Returns {
  readonly #dependencies: ReturnsDependencies;
  readonly #wheel = new TimerWheel<[ConnectionState, Absence]>((waiting) => this.#try(...waiting));
  readonly #awayUs = createHistogram();
  readonly #counts = { dropped: 0, away: 0, returned: 0, recovered: 0, gaveUp: 0, left: 0, retries: 0 };

  constructor(dependencies: ReturnsDependencies) {
    this.#dependencies = dependencies;
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
  begin(connection: ConnectionState, { slot, sessions, interest }: Client, reason: string): true | undefined {
    const { home } = connection;
    if (!this.#dependencies.backoff || !home || reason === SENT_AWAY) return undefined;
    this.#counts.dropped++;
    this.#counts.away++;
    home.away = {
      ...{ reason, slot, sessions, interest },
      ...{ sinceUs: monotonicUs(), attempts: 0, waiting: home.namespaces },
      ...{ isBack: false, isRecovered: false, isRenewed: false },
    };
    this.#schedule(connection, home.away, 0);
    return true;
  }

  /** An attempt has failed. */
  failed(connection: ConnectionState, retryAfterMs = 0): void {
    const away = connection.home?.away;
    if (away) this.#schedule(connection, away, retryAfterMs);
  }

  /** The virtual user closes the connection. */
  cancel({ home }: ConnectionState): void {
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
  opened(connection: ConnectionState, client: Client, namespace: string, isRecovered: boolean): void {
    const { home } = connection;
    if (!home?.away?.waiting.includes(namespace)) return;
    const { away, joins } = home;
    away.waiting = without(away.waiting, namespace);
    const retries = away.attempts - 1;
    this.#dependencies.answer({ op: 'returned', id: connection.id, namespace, isRecovered, retries });
    away.attempts = 1; // its retries are reported once
    if (isRecovered) away.isRecovered = true;
    else if (joins.length === 0 || joins.some((join) => join.namespace === namespace)) {
      this.#renew(connection, client, away, namespace);
    }
    if (away.isRenewed) this.#repeatJoins(connection, namespace);
    this.#endIfComplete(connection, client, away);
  }

  /** A namespace was refused, and another one is back. */
  refused(connection: ConnectionState, client: Client, namespace: string): void {
    const { home } = connection;
    if (!home?.away?.waiting.includes(namespace)) return;
    const { away } = home;
    away.waiting = without(away.waiting, namespace);
    home.namespaces = without(home.namespaces, namespace);
    this.#dependencies.answer({ op: 'lost', id: connection.id, namespace, reason: away.reason, retries: 0 });
    this.#endIfComplete(connection, client, away);
  }

  close(): void {
    this.#wheel.close();
  }

  #schedule(connection: ConnectionState, away: Absence, retryAfterMs: number): void {
    const { backoff } = this.#dependencies;
    const isLast = backoff === undefined || away.attempts >= backoff.attempts;
    const delayMs = isLast ? undefined : retryDelayMs(backoff, away.attempts + 1, retryAfterMs);
    if (delayMs === undefined) this.#giveUp(connection, away);
    else this.#wheel.add([connection, away], delayMs);
  }

  #giveUp({ id, home }: ConnectionState, { reason, attempts }: Absence): void {
    this.#counts.away--;
    this.#counts.gaveUp++;
    if (home) home.away = undefined;
    this.#dependencies.answer({ op: 'lost', id, reason, retries: Math.max(0, attempts - 1) });
  }

  /** Unless it has been closed meanwhile. */
  #try(connection: ConnectionState, away: Absence): void {
    if (connection.home?.away !== away || connection.closeRequestId !== undefined) return;
    away.attempts++;
    if (away.attempts > 1) this.#counts.retries++;
    this.#dependencies.attempt(connection);
  }

  /** The session is a new one, so the ledger gets a new connection. @param except its joins are repeated by the caller */
  #renew(connection: ConnectionState, client: Client, away: Absence, except?: string): void {
    if (away.isRenewed) return;
    const { table, acknowledgements } = this.#dependencies;
    away.isRenewed = true;
    if (client.slot === away.slot) {
      table.releaseSlot(client);
      client.slot = table.assignSlot(connection);
    }
    acknowledgements.connected(client);
    for (const namespace of connection.home?.namespaces ?? []) {
      if (namespace !== except && !away.waiting.includes(namespace)) this.#repeatJoins(connection, namespace);
    }
  }

  #repeatJoins({ id, home }: ConnectionState, namespace: string): void {
    for (const join of home?.joins ?? []) {
      if (join.namespace === namespace) this.#dependencies.emit({ op: 'emit', id, ...join, isRepeat: true });
    }
  }

  /** All namespaces are back, or refused. */
  #endIfComplete(connection: ConnectionState, client: Client, away: Absence): void {
    if (away.waiting.length > 0 || !connection.home) return;
    connection.home.away = undefined;
    if (away.isRecovered && !away.isRenewed) {
      this.#counts.recovered++;
      this.#dependencies.acknowledgements.recovered(client, connection);
    } else this.#renew(connection, client, away);
  }
}
