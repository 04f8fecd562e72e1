/** What clients report of their connections: answers to the engine, entries in the ledger, and counts. */
import { monotonicUs } from '../../../../protocol/clock/clock.ts';
import type { FailureCode } from '../../../../protocol/codes/failure-codes.ts';
import type { BroadcastCopy, Client, ClientSink, ConnectTimings, OwnEventCopy } from '../../client/client.ts';
import { FIRST_REPEATED_ACK_ID } from '../../client/repeated-message.ts';
import type { FleetAnswer } from '../../messages.ts';
import type { ConnectSeries } from '../counts/connect-series.ts';
import type { ConnectTimes } from '../counts/connect-times.ts';
import type { OpenSeries } from '../counts/open-series.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { FINALIZED, type Sightings } from '../ledger/sightings.ts';
import type { RepeatedMessages } from '../messages/repeated-messages.ts';
import { type ConnectionState, type EmitCommand, takePending, workerOf } from './connection-state.ts';
import type { HeldConnections } from './held-connections.ts';
import { withNamespace, without } from './home.ts';

interface ClientReportsDependencies {
  held: HeldConnections;
  ledger: Ledger;
  sightings: Sightings;
  connectTimes: ConnectTimes;
  openSeries: OpenSeries;
  connectSeries: ConnectSeries;
  messages: RepeatedMessages;
  answer: (answer: FleetAnswer) => void;
  /** @returns whether another client tries the connection again, so that this failure need not be reported */
  retryPort: (connection: ConnectionState, cause: FailureCode) => boolean;
  emit: (command: EmitCommand) => void;
}

export class ClientReports implements ClientSink {
  readonly #dependencies: ClientReportsDependencies;
  readonly #held: HeldConnections;

  constructor(dependencies: ClientReportsDependencies) {
    this.#dependencies = dependencies;
    this.#held = dependencies.held;
  }

  onOpen(
    client: Client,
    namespace: string,
    sessionId: string,
    timings: ConnectTimings | undefined,
    isRecovered = false,
  ): void {
    const connection = this.#held.table.ofClient(client);
    if (!connection) return;
    const nowUs = monotonicUs();
    const { home } = connection;
    if (timings) {
      this.#held.counts.opened++;
      this.#held.counts.connected++;
      this.#held.counts.connecting--;
      connection.open = true;
      this.#held.counts.carry(connection, client);
      this.#held.counts.assign(connection, workerOf(sessionId), false);
      if (home?.away) {
        this.#held.returns.isBack(home.away);
        this.#held.fault?.returned(connection.id);
      } else this.#firstOpen(connection, client, timings, nowUs);
    }
    const pending = takePending(connection, namespace);
    if (pending === undefined) {
      this.#held.returns.opened(connection, client, namespace, isRecovered);
      return;
    }
    if (home) home.namespaces = withNamespace(home.namespaces, namespace);
    const { requestId, begunAtUs, emits } = pending;
    this.#dependencies.answer({ op: 'opened', requestId, begunAtUs, openedAtUs: nowUs });
    for (const emit of emits ?? []) this.#dependencies.emit(emit);
  }

  /** Since the connection was asked for: the time of one that comes back is that of its absence. */
  #firstOpen(connection: ConnectionState, client: Client, timings: ConnectTimings, nowUs: number): void {
    if (timings.tlsResumed) this.#held.counts.tlsResumed++;
    this.#dependencies.connectTimes.record(timings, nowUs - connection.attemptingSinceUs);
    this.#dependencies.openSeries.record(nowUs);
    this.#dependencies.connectSeries.opened(nowUs, nowUs - connection.attemptingSinceUs);
    connection.attemptingSinceUs = 0;
    this.#held.acknowledgements.connected(client);
  }

  onUpgraded(client: Client, tookUs: number): void {
    this.#dependencies.connectTimes.recordUpgrade(tookUs);
    this.#changeTransport(client);
  }

  onUpgradeFailed(client: Client, cause: FailureCode): void {
    this.#held.counts.upgradeFailed(cause);
    this.#changeTransport(client);
  }

  #changeTransport(client: Client): void {
    const connection = this.#held.table.ofClient(client);
    if (connection?.open) this.#held.counts.carry(connection, client);
  }

  onRefused(client: Client, namespace: string, message: string, data: unknown): void {
    const connection = this.#held.table.ofClient(client);
    if (!connection) return;
    const requestId = takePending(connection, namespace)?.requestId;
    this.#held.counts.failed('namespace_refused');
    if (!connection.open) {
      this.#dependencies.connectSeries.failed(monotonicUs());
      this.#held.fault?.failed(connection.id, 'namespace_refused');
    }
    if (requestId !== undefined) {
      this.#dependencies.answer({ op: 'failed', requestId, cause: 'namespace_refused', message, data });
    }
    if (connection.open) this.#held.returns.refused(connection, client, namespace);
    else {
      this.#held.counts.connecting--;
      client.destroy();
      this.#held.drop(connection);
      this.#held.endAttempt(connection);
    }
  }

  onFailed(client: Client, cause: FailureCode, message: string, retryAfterMs?: number): void {
    const connection = this.#held.table.ofClient(client);
    if (!connection) return;
    if (this.#dependencies.retryPort(connection, cause)) return;
    this.#held.counts.failed(cause);
    this.#dependencies.connectSeries.failed(monotonicUs());
    this.#held.fault?.failed(connection.id, cause);
    this.#held.counts.connecting--;
    this.#held.failPending(connection, cause, message, retryAfterMs);
    this.#held.drop(connection);
    this.#held.endAttempt(connection, retryAfterMs);
  }

  onBroadcast(
    client: Client,
    seq: number,
    _sentAtUs: number,
    worker: string,
    receivedAtUs: number,
    copy: BroadcastCopy,
  ): void {
    this.#dependencies.ledger.receive(client.slot, seq, worker, receivedAtUs, copy);
  }

  onOwnEvent(client: Client, id: string, receivedAtUs: number, copy: OwnEventCopy): void {
    const { ledger, sightings } = this.#dependencies;
    const number = sightings.numberOf(id, receivedAtUs, copy);
    if (number === FINALIZED) ledger.receiveLate();
    else ledger.receive(client.slot, number, '', receivedAtUs, copy);
  }

  onUnreadable(_client: Client, example?: string): void {
    this.#dependencies.ledger.receiveUnreadable();
    this.#dependencies.sightings.unmatched(example);
  }

  onEvent(client: Client, namespace: string, event: string, args: unknown[]): void {
    const connection = this.#held.table.ofClient(client);
    if (!connection || connection.kept?.put(namespace, event, args)) return;
    this.#dependencies.answer({ op: 'event', id: connection.id, namespace, event, args });
  }

  onIgnored(): void {
    this.#held.counts.ignoredEvents++;
  }

  onAck(client: Client, _namespace: string, ackId: number, args: unknown[]): void {
    const connection = this.#held.table.ofClient(client);
    if (ackId < FIRST_REPEATED_ACK_ID) this.#held.acknowledgements.received(client, connection, ackId, args);
    else if (!connection || !this.#dependencies.messages.acknowledged(connection, ackId))
      this.#held.counts.unknownAcks++;
  }

  onUnknownAck(): void {
    this.#held.counts.unknownAcks++;
  }

  onClosed(client: Client, reason: string, namespace: string | undefined): void {
    const connection = this.#held.table.ofClient(client);
    if (!connection) return;
    if (namespace !== undefined) {
      if (connection.home) connection.home.namespaces = without(connection.home.namespaces, namespace);
      this.#dependencies.answer({ op: 'closed', id: connection.id, reason, namespace });
      return;
    }
    this.#held.counts.connected--;
    this.#held.failPending(connection, 'closed', reason);
    if (connection.closeRequestId !== undefined) {
      this.#held.fault?.dropped(connection.id, reason, false);
      this.#held.forget(connection);
      return;
    }
    this.#dependencies.connectSeries.ended(monotonicUs());
    const returns = this.#held.returns.begin(connection, client, reason);
    this.#held.fault?.dropped(connection.id, reason, returns === true);
    this.#held.drop(connection);
    this.#dependencies.answer({ op: 'closed', id: connection.id, reason, ...(returns && { returns }) });
  }

  onTraffic(receivedBytes: number, sentBytes: number): void {
    this.#held.counts.receivedBytes += receivedBytes;
    this.#held.counts.sentBytes += sentBytes;
  }
}
