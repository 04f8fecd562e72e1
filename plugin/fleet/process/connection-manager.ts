/**
 * Manages the connections of one fleet process: turns the engine's commands into calls on clients, and the clients'
 * reports into answers, ledger entries and counts.
 */
import { monotonicUs } from '../../../protocol/clock.ts';
import type { FailureCode } from '../../../protocol/codes/failure-codes.ts';
import { EVENTS } from '../../../protocol/events.ts';
import type { FaultCounts, FaultOrder } from '../../../protocol/link.ts';
import type { BroadcastCopy, Client, ClientSink, ConnectTimings, OwnEventCopy } from '../client.ts';
import type { FleetAnswer, FleetCommand, FleetSettings } from '../messages.ts';
import type { Pacer } from '../pacer.ts';
import { FIRST_REPEATED_ACK_ID } from '../repeated-message.ts';
import { Acknowledgements } from './acknowledgements.ts';
import { amongHosts } from './among-hosts.ts';
import { ClientFactory, type CreateClient } from './client-factory.ts';
import type { ConnectSeries } from './connect-series.ts';
import type { ConnectTimes } from './connect-times.ts';
import {
  type ConnectionState,
  type EmitCommand,
  findPending,
  NONE_PENDING,
  namespacesToOpen,
  takePending,
  workerOf,
} from './connection-state.ts';
import { ConnectionTable } from './connection-table.ts';
import { Counts } from './counts.ts';
import { FaultAccount } from './fault-account.ts';
import { withJoin, withNamespace, without } from './home.ts';
import { KeptEvents } from './kept-events.ts';
import type { Ledger } from './ledger.ts';
import type { ConnectionCommand } from './open-schedule.ts';
import type { OpenSeries } from './open-series.ts';
import type { RepeatedMessages } from './repeated-messages.ts';
import { Returns } from './returns.ts';
import { RoomShare } from './room-share.ts';
import { FINALIZED, type Sightings } from './sightings.ts';

export interface ConnectionManagerDependencies {
  settings: FleetSettings;
  /** Index of this process among all fleet processes of the run. */
  share: { index: number; of: number };
  /** Of the connections that were opened since the last reset. */
  firstId: number;
  createClient: CreateClient;
  ledger: Ledger;
  sightings: Sightings;
  connectTimes: ConnectTimes;
  openSeries: OpenSeries;
  connectSeries: ConnectSeries;
  messages: RepeatedMessages;
  pacer: Pacer;
  answer: (answer: FleetAnswer) => void;
}

export class ConnectionManager implements ClientSink {
  readonly counts = new Counts();
  readonly #dependencies: ConnectionManagerDependencies;
  readonly #table: ConnectionTable;
  readonly #reusesSlots: boolean;
  readonly #acknowledgements: Acknowledgements;
  readonly #clients: ClientFactory;
  readonly #rooms: RoomShare | undefined;
  readonly returns: Returns;
  /** Sent again by a connection that comes back. */
  readonly #joinEvent: string | undefined;
  /** Once a planned fault has begun. */
  #fault: FaultAccount | undefined;

  constructor(dependencies: ConnectionManagerDependencies) {
    this.#dependencies = dependencies;
    const { ledger, settings, answer } = dependencies;
    this.#acknowledgements = new Acknowledgements({ ledger, settings, counts: this.counts, answer });
    this.#rooms =
      settings.rooms && new RoomShare(settings.rooms, amongHosts(settings.fleet, settings), dependencies.firstId);
    this.#clients = new ClientFactory(dependencies.createClient, this, settings, dependencies.share);
    const reconnects = settings.reconnection !== undefined;
    // Those that come back have the slots that they had.
    this.#reusesSlots = !ledger.remembers && !reconnects;
    this.#table = new ConnectionTable({ reconnects, reusesSlots: this.#reusesSlots });
    this.#joinEvent = settings.ownEvent ? settings.ownEvent.join : EVENTS.joinRoom;
    this.returns = new Returns({
      backoff: settings.reconnection,
      table: this.#table,
      acknowledgements: this.#acknowledgements,
      answer,
      attempt: (connection) => this.#attempt(connection),
      emit: (command) => this.#emit(command),
    });
  }

  get joining(): number {
    return this.#acknowledgements.joining;
  }

  get joined(): number {
    return this.#acknowledgements.joined;
  }

  fault(order: FaultOrder): void {
    const { recovered } = this.returns;
    if (order.stage === 'end') {
      this.#fault?.end((id) => this.#table.find(id), recovered);
      return;
    }
    const open = this.#table.open();
    this.#fault = new FaultAccount(order.atUs, open, recovered);
    if (!order.drop) return;
    for (const { client } of open) {
      client?.destroy();
      if (client) this.onClosed(client, 'transport close', undefined);
    }
  }

  faultCounts(): { fault?: FaultCounts } {
    const fault = this.#fault?.read((id) => this.#table.find(id), this.returns.recovered);
    return fault ? { fault } : {};
  }

  run(command: ConnectionCommand): void {
    if (command.op === 'open') this.#open(command);
    else if (command.op === 'emit') this.#emit(command);
    else if (command.op === 'repeat') this.#repeat(command);
    else if (command.op === 'interest') this.#interest(command);
    else if (command.op === 'keep') this.#keep(command);
    else if (command.op === 'close') this.#close(command.id, command.requestId);
  }

  #open(command: Extract<FleetCommand, { op: 'open' }>): void {
    const connection = this.#table.findOrAdd(command.id);
    const { namespace, requestId, options } = command;
    const emits = options?.emit && [{ op: 'emit' as const, id: command.id, namespace, ...options.emit }];
    connection.pending = connection.pending.concat({ namespace, requestId, begunAtUs: monotonicUs(), emits });
    // One that is away opens it when it comes back.
    if (!connection.client && !connection.home?.away) {
      this.counts.attempts++;
      this.counts.connecting++;
      if (connection.attemptingSinceUs === 0) connection.attemptingSinceUs = monotonicUs();
      connection.overrides = options?.overrides;
      const slot = this.#table.assignSlot(connection);
      connection.client = this.#clients.create(slot, connection);
      // Set before the first packet: a server can send events as soon as it has accepted the namespace.
      if (command.interest) connection.client.interest = new Set(command.interest);
      for (const name of command.keep ?? []) keptOf(connection).hold(name);
    }
    connection.client?.connect(namespace);
  }

  /** Of a connection that is away. */
  #attempt(connection: ConnectionState): void {
    const { away } = connection.home ?? {};
    if (!away) return;
    this.#fault?.attempted(connection.id);
    this.counts.attempts++;
    this.counts.connecting++;
    connection.portTries = 0;
    const slot =
      away.sessions.length > 0 ? this.#table.keepSlot(connection, away.slot) : this.#table.assignSlot(connection);
    connection.client = this.#clients.create(slot, connection);
    connection.client.interest = away.interest;
    for (const namespace of namespacesToOpen(connection)) connection.client.connect(namespace);
  }

  #emit(command: EmitCommand): void {
    const { namespace, event } = command;
    const connection = this.#table.find(command.id);
    const client = connection?.client;
    if (!client) return; // its end has been reported already
    const pending = findPending(connection, namespace);
    if (pending) {
      pending.emits = [...(pending.emits ?? []), command];
      return;
    }
    const { home } = connection;
    if (home && event === this.#joinEvent && command.isRepeat !== true) home.joins = withJoin(home.joins, command);
    const sent = this.#rooms && event === EVENTS.joinRoom ? this.#rooms.joinsOf(command) : [command];
    for (const one of sent) client.emit(namespace, event, one.args, this.#acknowledgements.request(client, one));
  }

  #repeat({ id, key, message }: Extract<FleetCommand, { op: 'repeat' }>): void {
    const connection = this.#table.find(id);
    const { messages } = this.#dependencies;
    if (message) messages.define(key, message);
    // Its end can have been reported already; one that comes back sends then.
    if (connection) messages.start(connection, key);
  }

  #interest({ id, event, wanted }: Extract<FleetCommand, { op: 'interest' }>): void {
    const connection = this.#table.find(id);
    // The next client gets it, or the one that is about to bring the connection back.
    for (const holder of [connection?.home?.away, connection?.client]) {
      if (!holder) continue;
      if (wanted) {
        holder.interest ??= new Set();
        holder.interest.add(event);
      } else if (holder.interest?.delete(event) && holder.interest.size === 0) holder.interest = undefined;
    }
  }

  #keep({ id, namespace, event, mode }: Extract<FleetCommand, { op: 'keep' }>): void {
    const connection = this.#table.find(id);
    if (!connection) return;
    if (mode === 'hold') {
      keptOf(connection).hold([namespace, event]);
      return;
    }
    const { events, displaced } = keptOf(connection).take([namespace, event]);
    if (mode === 'drop') this.#displaced(id, displaced);
    else if (events.length > 0) {
      this.#dependencies.answer({ op: 'kept', id, namespace, event, events, displaced });
    }
  }

  #displaced(id: number, count: number): void {
    if (count > 0) this.#dependencies.answer({ op: 'displaced', id, count });
  }

  #close(id: number, requestId: number): void {
    const connection = this.#table.find(id);
    if (connection) this.#dependencies.messages.end(connection);
    if (!connection?.client) {
      this.#displaced(id, connection?.kept?.displaced ?? 0);
      if (connection) this.returns.cancel(connection);
      if (connection) this.#failPending(connection, 'closed', 'closed by the virtual user');
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

  onOpen(
    client: Client,
    namespace: string,
    sessionId: string,
    timings: ConnectTimings | undefined,
    isRecovered = false,
  ): void {
    const connection = this.#table.ofClient(client);
    if (!connection) return;
    const nowUs = monotonicUs();
    const { home } = connection;
    if (timings) {
      this.counts.opened++;
      this.counts.connected++;
      this.counts.connecting--;
      connection.open = true;
      this.counts.carry(connection, client);
      this.counts.assign(connection, workerOf(sessionId), false);
      if (home?.away) {
        this.returns.isBack(home.away);
        this.#fault?.returned(connection.id);
      } else this.#firstOpen(connection, client, timings, nowUs);
    }
    const pending = takePending(connection, namespace);
    if (pending === undefined) {
      this.returns.opened(connection, client, namespace, isRecovered);
      return;
    }
    if (home) home.namespaces = withNamespace(home.namespaces, namespace);
    const { requestId, begunAtUs, emits } = pending;
    this.#dependencies.answer({ op: 'opened', requestId, begunAtUs, openedAtUs: nowUs });
    for (const emit of emits ?? []) this.#emit(emit);
  }

  /** Since the connection was asked for: the time of one that comes back is that of its absence. */
  #firstOpen(connection: ConnectionState, client: Client, timings: ConnectTimings, nowUs: number): void {
    if (timings.tlsResumed) this.counts.tlsResumed++;
    this.#dependencies.connectTimes.record(timings, nowUs - connection.attemptingSinceUs);
    this.#dependencies.openSeries.record(nowUs);
    this.#dependencies.connectSeries.opened(nowUs, nowUs - connection.attemptingSinceUs);
    connection.attemptingSinceUs = 0;
    this.#acknowledgements.connected(client);
  }

  onUpgraded(client: Client, tookUs: number): void {
    this.#dependencies.connectTimes.recordUpgrade(tookUs);
    this.#changeTransport(client);
  }

  onUpgradeFailed(client: Client, cause: FailureCode): void {
    this.counts.upgradeFailed(cause);
    this.#changeTransport(client);
  }

  #changeTransport(client: Client): void {
    const connection = this.#table.ofClient(client);
    if (connection?.open) this.counts.carry(connection, client);
  }

  onRefused(client: Client, namespace: string, message: string, data: unknown): void {
    const connection = this.#table.ofClient(client);
    if (!connection) return;
    const requestId = takePending(connection, namespace)?.requestId;
    this.counts.failed('namespace_refused');
    if (!connection.open) {
      this.#dependencies.connectSeries.failed(monotonicUs());
      this.#fault?.failed(connection.id, 'namespace_refused');
    }
    if (requestId !== undefined) {
      this.#dependencies.answer({ op: 'failed', requestId, cause: 'namespace_refused', message, data });
    }
    if (connection.open) this.returns.refused(connection, client, namespace);
    else {
      this.counts.connecting--;
      client.destroy();
      this.#drop(connection);
      this.#endAttempt(connection);
    }
  }

  #endAttempt(connection: ConnectionState, retryAfterMs?: number): void {
    if (connection.closeRequestId !== undefined) this.#confirmClose(connection);
    else this.returns.failed(connection, retryAfterMs);
  }

  onFailed(client: Client, cause: FailureCode, message: string, retryAfterMs?: number): void {
    const connection = this.#table.ofClient(client);
    if (!connection) return;
    if (this.#clients.retryPort(connection, cause)) return;
    this.counts.failed(cause);
    this.#dependencies.connectSeries.failed(monotonicUs());
    this.#fault?.failed(connection.id, cause);
    this.counts.connecting--;
    this.#failPending(connection, cause, message, retryAfterMs);
    this.#drop(connection);
    this.#endAttempt(connection, retryAfterMs);
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
    const connection = this.#table.ofClient(client);
    if (!connection || connection.kept?.put(namespace, event, args)) return;
    this.#dependencies.answer({ op: 'event', id: connection.id, namespace, event, args });
  }

  onIgnored(): void {
    this.counts.ignoredEvents++;
  }

  onAck(client: Client, _namespace: string, ackId: number, args: unknown[]): void {
    const connection = this.#table.ofClient(client);
    if (ackId < FIRST_REPEATED_ACK_ID) this.#acknowledgements.received(client, connection, ackId, args);
    else if (!connection || !this.#dependencies.messages.acknowledged(connection, ackId)) this.counts.unknownAcks++;
  }

  onUnknownAck(): void {
    this.counts.unknownAcks++;
  }

  onClosed(client: Client, reason: string, namespace: string | undefined): void {
    const connection = this.#table.ofClient(client);
    if (!connection) return;
    if (namespace !== undefined) {
      if (connection.home) connection.home.namespaces = without(connection.home.namespaces, namespace);
      this.#dependencies.answer({ op: 'closed', id: connection.id, reason, namespace });
      return;
    }
    this.counts.connected--;
    this.counts.ended(reason);
    this.#failPending(connection, 'closed', reason);
    if (connection.closeRequestId !== undefined) {
      this.#fault?.dropped(connection.id, reason, false);
      this.#forget(connection);
      return;
    }
    this.#dependencies.connectSeries.ended(monotonicUs());
    const returns = this.returns.begin(connection, client, reason);
    this.#fault?.dropped(connection.id, reason, returns === true);
    this.#drop(connection);
    this.#dependencies.answer({ op: 'closed', id: connection.id, reason, ...(returns && { returns }) });
  }

  onTraffic(receivedBytes: number, sentBytes: number): void {
    this.counts.receivedBytes += receivedBytes;
    this.counts.sentBytes += sentBytes;
  }

  #failPending(connection: ConnectionState, cause: FailureCode, message: string, retryAfterMs?: number): void {
    for (const { requestId } of connection.pending) {
      this.#dependencies.answer({ op: 'failed', requestId, cause, message, retryAfterMs });
    }
    connection.pending = NONE_PENDING;
  }

  /** The client has ended; the engine can open the connection again. */
  #drop(connection: ConnectionState): void {
    const { client } = connection;
    if (!client) return;
    this.#acknowledgements.left(client);
    this.#dependencies.messages.disconnected(connection);
    this.#table.releaseSlot(client);
    if (this.#reusesSlots) this.#dependencies.ledger.forget(client.slot);
    this.counts.assign(connection, '', false);
    this.counts.dropped(connection);
    connection.client = undefined;
    connection.open = false;
  }

  #forget(connection: ConnectionState): void {
    this.#drop(connection);
    this.#confirmClose(connection);
  }

  #confirmClose(connection: ConnectionState): void {
    this.returns.cancel(connection);
    this.#table.delete(connection.id);
    this.#displaced(connection.id, connection.kept?.displaced ?? 0);
    if (connection.closeRequestId === undefined) return;
    this.#dependencies.answer({ op: 'left', requestId: connection.closeRequestId });
    connection.closeRequestId = undefined;
  }

  /** Drops all connections at once, without reports. */
  destroy(): void {
    this.returns.close();
    this.#table.destroy();
  }
}

function keptOf(connection: ConnectionState): KeptEvents {
  connection.kept ??= new KeptEvents();
  return connection.kept;
}
