/** What clients report of their connections: answers to the engine, entries in the ledger, and counts. */
import { monotonicUs } from '../../../../protocol/base/clock/clock.ts';
import { mapTexts, withoutValues } from '../../../../protocol/base/secrets/known-secrets.ts';
import { allSecretsIn } from '../../../../protocol/base/secrets/masked-values.ts';
import { addOwn } from '../../../../protocol/base/sum-counts.ts';
import type { Client, ClientSink, ConnectTimings, Copy } from '../../client/client.ts';
import type { Failure } from '../../client/failure.ts';
import { FIRST_REPEATED_ACK_ID } from '../../client/repeated-message.ts';
import { endOf } from '../counts/end-counts.ts';
import { FINALIZED } from '../ledger/process-sightings.ts';
import type { Parts } from '../process-parts.ts';
import { type Connection, type EmitCommand, workerOf } from './fleet-connection.ts';
import type { HeldConnections } from './held-connections.ts';

export class ClientReports implements ClientSink {
  readonly #parts: Parts;
  readonly #held: HeldConnections;
  readonly #emit: (command: EmitCommand) => void;

  constructor(parts: Parts, held: HeldConnections, emit: (command: EmitCommand) => void) {
    this.#parts = parts;
    this.#held = held;
    this.#emit = emit;
  }

  onOpen(
    client: Client,
    namespace: string,
    sessionId: string,
    timings: ConnectTimings | undefined,
    isRecovered = false,
  ): void {
    const connection = this.#held.ofClient(client);
    if (!connection) return;
    const nowUs = monotonicUs();
    if (timings) this.#onTransportOpen(connection, client, workerOf(sessionId), timings, nowUs);
    const pending = connection.takePending(namespace);
    if (pending === undefined) {
      this.#held.returns.settled(connection, client, namespace, isRecovered ? 'restored' : 'opened');
      return;
    }
    connection.keepNamespace(namespace);
    this.#parts.acknowledgements.connected(client, connection, [namespace]);
    const { requestId, begunAtUs, emits } = pending;
    this.#parts.answer({ op: 'opened', requestId, begunAtUs, openedAtUs: nowUs });
    for (const emit of emits) this.#emit(emit);
  }

  #onTransportOpen(
    connection: Connection,
    client: Client,
    worker: string,
    timings: ConnectTimings,
    nowUs: number,
  ): void {
    const { counts, connecting } = this.#parts;
    const { away } = connection.home ?? {};
    connection.open = true;
    connection.openedAtMs = Math.round(performance.now());
    counts.opened(connection, client, worker);
    connecting.openings++;
    if (away) {
      this.#held.returns.isBack(away);
      this.#held.fault?.returned(connection.id);
      return;
    }
    // Since the connection was asked for: the time of one that comes back is that of its absence.
    connecting.opened(timings, nowUs, nowUs - connection.attemptingSinceUs);
    connection.attemptingSinceUs = 0;
  }

  onUpgraded(client: Client, tookUs: number): void {
    this.#parts.connecting.changed(tookUs);
    this.#changeTransport(client);
  }

  onUpgradeFailed(client: Client, { cause }: Failure): void {
    addOwn(this.#parts.counts.upgradeFailures, cause, 1);
    this.#changeTransport(client);
  }

  #changeTransport(client: Client): void {
    const connection = this.#held.ofClient(client);
    if (connection?.open) this.#parts.counts.carry(connection, client);
  }

  onRefused(client: Client, namespace: string, message: string, data: unknown): void {
    const connection = this.#held.ofClient(client);
    if (!connection) return;
    const pending = connection.takePending(namespace);
    const failure = withoutSecretsOf(connection, { cause: 'namespace_refused', message, data });
    if (pending) this.#held.fail(pending, failure);
    if (connection.open) this.#held.returns.settled(connection, client, namespace, 'refused');
    else {
      client.destroy();
      this.#endAttempt(connection, failure);
    }
  }

  onFailed(client: Client, found: Failure): void {
    const connection = this.#held.ofClient(client);
    if (!connection) return;
    const failure = withoutSecretsOf(connection, found);
    this.#held.failAll(connection, failure);
    this.#endAttempt(connection, failure);
  }

  #endAttempt(connection: Connection, failure: Failure): void {
    this.#parts.connecting.failed();
    this.#held.fault?.failed(connection.id, failure.cause);
    this.#held.endAttempt(connection, failure);
  }

  onCopy({ slot }: Client, id: string | number, receivedAtUs: number, copy: Copy): void {
    const { ledger, sightings } = this.#parts;
    const isOwn = typeof id === 'string';
    const number = isOwn ? sightings.numberOf(id, receivedAtUs, copy) : id;
    if (isOwn && number === FINALIZED) ledger.receiveLate();
    else ledger.receive(slot, number, receivedAtUs, copy);
  }

  onUnreadable(_client: Client, example?: string): void {
    this.#parts.ledger.receiveUnreadable();
    this.#parts.sightings.unmatched(example);
  }

  onEvent(client: Client, namespace: string, event: string, args: unknown[]): void {
    const atUs = monotonicUs();
    const connection = this.#held.ofClient(client);
    const mode = connection?.listening?.put(namespace, event, args);
    if (mode === 'take' && connection) {
      this.#parts.answer({ op: 'event', id: connection.id, namespace, event, args, atUs });
    }
  }

  onAck(client: Client, _namespace: string, ackId: number, args: unknown[]): void {
    const connection = this.#held.ofClient(client);
    const { acknowledgements, messages, counts } = this.#parts;
    counts.acknowledged(args, () => connection && secretsOf(connection));
    if (ackId < FIRST_REPEATED_ACK_ID) acknowledgements.received(client, connection, ackId, args);
    else if (!connection || !messages.acknowledged(connection, ackId)) counts.unknownAcks++;
  }

  onUnknownAck(): void {
    this.#parts.counts.unknownAcks++;
  }

  onClosed(client: Client, reason: string, namespace: string | undefined, why?: Failure): void {
    const connection = this.#held.ofClient(client);
    if (!connection) return;
    const { id } = connection;
    const { heartbeat } = client;
    const find = () => endOf(client, reason, performance.now() - connection.openedAtMs, why, secretsOf(connection));
    if (namespace !== undefined) {
      connection.forgetNamespace(namespace);
      this.#parts.answer({
        op: 'closed',
        id,
        reason,
        namespace,
        ...(heartbeat && { end: { found: find(), heartbeat } }),
      });
      return;
    }
    this.#held.failAll(connection, { cause: 'closed', message: reason });
    const leaves = connection.closeRequestId !== undefined;
    const returns = !leaves && this.#held.returns.begin(connection, client, reason);
    this.#held.fault?.dropped(connection.id, reason, returns);
    if (leaves) {
      this.#held.leave(connection, reason);
      return;
    }
    this.#parts.connecting.overTime.ended.record(monotonicUs());
    const found = find();
    this.#parts.ends.record(found);
    this.#held.drop(connection, reason);
    const answer = { op: 'closed' as const, id, reason, ...(returns && { returns: true as const }) };
    this.#parts.answer({ ...answer, ...(heartbeat && { end: { found, heartbeat } }) });
  }
}

/** Some servers repeat the token that they refuse. Secrets of all connections are removed where the engine keeps the text. */
function withoutSecretsOf(connection: Connection, failure: Failure): Failure {
  const secrets = secretsOf(connection);
  if (!secrets) return failure;
  return mapTexts(failure, (text) => withoutValues(text, secrets));
}

function secretsOf({ overrides }: Connection): string[] | undefined {
  return overrides && allSecretsIn(overrides);
}
