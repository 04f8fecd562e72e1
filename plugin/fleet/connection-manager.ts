/**
 * Manages the connections of one fleet process: turns the engine's commands into calls on clients, and the clients'
 * reports into answers, ledger entries and counts.
 */
import { monotonicUs } from '../../protocol/clock.ts';
import { EVENTS, type JoinRoom } from '../../protocol/events.ts';
import type { FailureCode } from '../../protocol/failure-codes.ts';
import type { BroadcastCopy, Client, ClientOptions, ClientSink, ConnectTimings } from './client.ts';
import type { ConnectTimes } from './connect-times.ts';
import {
  type ConnectionState,
  type EmitCommand,
  findPending,
  NONE_PENDING,
  takePending,
  workerOf,
} from './connection-state.ts';
import { ConnectionTable } from './connection-table.ts';
import { Counts } from './counts.ts';
import { Joins } from './joins.ts';
import type { Ledger } from './ledger.ts';
import type { FleetAnswer, FleetCommand, FleetSettings } from './messages.ts';
import type { ConnectionCommand } from './open-schedule.ts';
import type { OpenSeries } from './open-series.ts';
import type { Pacer } from './pacer.ts';
import { optionsInTurn } from './source-ports.ts';

const PORT_TAKEN = new Set(['EADDRINUSE', 'EADDRNOTAVAIL']);
const MAX_PORT_TRIES = 100;

export interface ConnectionManagerDependencies {
  settings: FleetSettings;
  /** Index of this process among all fleet processes of the run. */
  share: { index: number; of: number };
  createClient: (slot: number, options: ClientOptions, sink: ClientSink) => Client;
  ledger: Ledger;
  connectTimes: ConnectTimes;
  openSeries: OpenSeries;
  pacer: Pacer;
  answer: (answer: FleetAnswer) => void;
}

export class ConnectionManager implements ClientSink {
  readonly counts = new Counts();
  readonly #dependencies: ConnectionManagerDependencies;
  readonly #table = new ConnectionTable();
  readonly #joins: Joins;
  readonly #nextOptions: () => ClientOptions;

  constructor(dependencies: ConnectionManagerDependencies) {
    this.#dependencies = dependencies;
    this.#joins = new Joins(dependencies.ledger);
    this.#nextOptions = optionsInTurn(
      dependencies.settings.defaults,
      dependencies.settings.localAddresses,
      dependencies.share,
    );
  }

  get joining(): number {
    return this.#joins.joining;
  }

  get joined(): number {
    return this.#joins.joined;
  }

  run(command: ConnectionCommand): void {
    if (command.op === 'open') this.#open(command);
    else if (command.op === 'emit') this.#emit(command);
    else if (command.op === 'interest') this.#interest(command);
    else if (command.op === 'close') this.#close(command.id, command.requestId);
  }

  #open(command: Extract<FleetCommand, { op: 'open' }>): void {
    const connection = this.#table.findOrAdd(command.id);
    const { namespace, requestId, options } = command;
    const emits = options?.emit && [{ op: 'emit' as const, id: command.id, namespace, ...options.emit }];
    connection.pending = connection.pending.concat({ namespace, requestId, begunAtUs: monotonicUs(), emits });
    if (!connection.client) {
      this.counts.attempts++;
      this.counts.connecting++;
      if (connection.attemptingSinceUs === 0) connection.attemptingSinceUs = monotonicUs();
      connection.overrides = options?.overrides;
      const slot = this.#table.assignSlot(connection);
      connection.client = this.#dependencies.createClient(slot, this.#options(options?.overrides), this);
      // Set before the first packet: a server can send events as soon as it has accepted the namespace.
      if (command.interest) connection.client.interest = new Set(command.interest);
    }
    connection.client.connect(namespace);
  }

  #options(overrides: Partial<ClientOptions> | undefined): ClientOptions {
    const options = this.#nextOptions();
    return overrides ? { ...options, ...overrides } : options;
  }

  #emit(command: EmitCommand): void {
    const { id, namespace, event, args, requestId } = command;
    const connection = this.#table.find(id);
    const client = connection?.client;
    if (!client) return; // its end has been reported already
    const pending = findPending(connection, namespace);
    if (pending) {
      pending.emits = [...(pending.emits ?? []), command];
      return;
    }
    const isJoin = event === EVENTS.joinRoom && this.#dependencies.settings.ledger;
    const ackId = isJoin ? this.#joins.request(client.slot, requestId, args[0] as JoinRoom) : requestId;
    client.emit(namespace, event, args, ackId);
  }

  #interest({ id, event, wanted }: Extract<FleetCommand, { op: 'interest' }>): void {
    const client = this.#table.find(id)?.client;
    if (!client) return;
    if (wanted) {
      client.interest ??= new Set();
      client.interest.add(event);
    } else if (client.interest?.delete(event) && client.interest.size === 0) client.interest = undefined;
  }

  #close(id: number, requestId: number): void {
    const connection = this.#table.find(id);
    if (!connection?.client) {
      this.#table.delete(id);
      this.#dependencies.answer({ op: 'left', requestId });
      return;
    }
    connection.closeRequestId = requestId;
    this.#dependencies.pacer.add(() => {
      // A connection that never opened cannot be closed politely, and would never report its end.
      if (connection.client && !connection.open) {
        connection.client.destroy();
        this.counts.connecting--;
        this.#failPending(connection, 'closed', 'closed by the virtual user');
        this.#forget(connection);
      } else connection.client?.close();
    });
  }

  onOpen(client: Client, namespace: string, sessionId: string, timings: ConnectTimings | undefined): void {
    const connection = this.#table.ofClient(client);
    if (!connection) return;
    const nowUs = monotonicUs();
    if (timings) {
      this.counts.opened++;
      this.counts.connected++;
      this.counts.connecting--;
      connection.open = true;
      this.#dependencies.connectTimes.record(timings, nowUs - connection.attemptingSinceUs);
      this.#dependencies.openSeries.record(nowUs);
      connection.attemptingSinceUs = 0;
      this.counts.assign(connection, workerOf(sessionId), false);
    }
    const pending = takePending(connection, namespace);
    if (pending === undefined) return;
    const { requestId, begunAtUs, emits } = pending;
    this.#dependencies.answer({ op: 'opened', requestId, begunAtUs, openedAtUs: nowUs });
    for (const emit of emits ?? []) this.#emit(emit);
  }

  onRefused(client: Client, namespace: string, message: string, data: unknown): void {
    const connection = this.#table.ofClient(client);
    if (!connection) return;
    const requestId = takePending(connection, namespace)?.requestId;
    this.counts.failed('namespace_refused');
    if (requestId !== undefined) {
      this.#dependencies.answer({ op: 'failed', requestId, cause: 'namespace_refused', message, data });
    }
    if (!connection.open) {
      this.counts.connecting--;
      client.destroy();
      this.#drop(connection);
      if (connection.closeRequestId !== undefined) this.#confirmClose(connection);
    }
  }

  onFailed(client: Client, cause: FailureCode, message: string): void {
    const connection = this.#table.ofClient(client);
    if (!connection) return;
    if (this.#retryPort(connection, cause)) return;
    this.counts.failed(cause);
    this.counts.connecting--;
    this.#failPending(connection, cause, message);
    this.#drop(connection);
    if (connection.closeRequestId !== undefined) this.#confirmClose(connection);
  }

  /** A source port that we chose can be in use by another process: then tries the next one, and reports nothing. */
  #retryPort(connection: ConnectionState, cause: FailureCode): boolean {
    const failed = connection.client;
    if (!failed || !PORT_TAKEN.has(cause) || connection.portTries >= MAX_PORT_TRIES) return false;
    if (this.#dependencies.settings.client !== 'light') return false; // only the light client chooses its ports
    const options = this.#options(connection.overrides);
    if (!options.localPort || connection.closeRequestId !== undefined) return false;
    connection.portTries++;
    const client = this.#dependencies.createClient(failed.slot, options, this);
    client.interest = failed.interest;
    connection.client = client;
    for (const { namespace } of connection.pending) client.connect(namespace);
    return true;
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

  onUnreadable(): void {
    this.#dependencies.ledger.receiveUnreadable();
  }

  onEvent(client: Client, namespace: string, event: string, args: unknown[]): void {
    const connection = this.#table.ofClient(client);
    if (connection) this.#dependencies.answer({ op: 'event', id: connection.id, namespace, event, args });
  }

  onIgnored(): void {
    this.counts.ignoredEvents++;
  }

  onAck(client: Client, _namespace: string, ackId: number, args: unknown[]): void {
    const { slot } = client;
    const join = this.#joins.answered(slot, ackId, args[0]);
    const connection = this.#table.ofClient(client);
    if (join && 'refusedBecause' in join) {
      if (connection) this.#refuseJoin(connection, ackId, join.refusedBecause);
      return;
    }
    if (join && connection?.open) {
      if (join.worker !== undefined) this.counts.assign(connection, join.worker, true);
      this.#joins.entered(slot, join.room, connection.worker);
    }
    if (!this.#joins.isOwnRequest(ackId)) this.#dependencies.answer({ op: 'acked', requestId: ackId, args });
  }

  /** A failed request, if the flow waits for the acknowledgement; else a report to the virtual user. */
  #refuseJoin({ id }: ConnectionState, ackId: number, message: string): void {
    this.counts.failed('join_refused');
    const failure = { cause: 'join_refused' as const, message };
    if (!this.#joins.isOwnRequest(ackId)) this.#dependencies.answer({ op: 'failed', requestId: ackId, ...failure });
    else this.#dependencies.answer({ op: 'refused', id, ...failure });
  }

  onClosed(client: Client, reason: string, namespace: string | undefined): void {
    const connection = this.#table.ofClient(client);
    if (!connection) return;
    if (namespace !== undefined) {
      this.#dependencies.answer({ op: 'closed', id: connection.id, reason, namespace });
      return;
    }
    this.counts.connected--;
    this.counts.ended(reason);
    this.#failPending(connection, 'closed', reason);
    if (connection.closeRequestId !== undefined) {
      this.#forget(connection);
      return;
    }
    this.#drop(connection);
    this.#dependencies.answer({ op: 'closed', id: connection.id, reason });
  }

  onTraffic(receivedBytes: number, sentBytes: number): void {
    this.counts.receivedBytes += receivedBytes;
    this.counts.sentBytes += sentBytes;
  }

  #failPending(connection: ConnectionState, cause: FailureCode, message: string): void {
    for (const { requestId } of connection.pending) {
      this.#dependencies.answer({ op: 'failed', requestId, cause, message });
    }
    connection.pending = NONE_PENDING;
  }

  /** The client has ended; the engine can open the connection again. */
  #drop(connection: ConnectionState): void {
    const { client } = connection;
    if (!client) return;
    this.#joins.left(client.slot);
    this.#table.releaseSlot(client);
    this.counts.assign(connection, '', false);
    connection.client = undefined;
    connection.open = false;
  }

  #forget(connection: ConnectionState): void {
    this.#drop(connection);
    this.#confirmClose(connection);
  }

  #confirmClose(connection: ConnectionState): void {
    this.#table.delete(connection.id);
    if (connection.closeRequestId === undefined) return;
    this.#dependencies.answer({ op: 'left', requestId: connection.closeRequestId });
    connection.closeRequestId = undefined;
  }

  /** Drops all connections at once, without reports. */
  destroy(): void {
    this.#table.destroy();
  }
}
