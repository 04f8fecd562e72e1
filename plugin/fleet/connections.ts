/**
 * The connections of one fleet process: turns commands into calls on clients, and what the clients report into
 * answers, ledger entries and counts.
 */
import { monotonicUs } from '../../protocol/clock.ts';
import { EVENTS, type JoinRoom } from '../../protocol/events.ts';
import type { FailureCode } from '../../protocol/failure-codes.ts';
import type { BroadcastCopy, Client, ClientOptions, ClientSink, ConnectTimings } from './client.ts';
import type { ConnectTimes } from './connect-times.ts';
import {
  type Connection,
  type Emit,
  NO_OPENINGS,
  newConnection,
  openingOf,
  takeOpening,
  workerOf,
} from './connection.ts';
import { Counts } from './counts.ts';
import { Joins } from './joins.ts';
import type { Ledger } from './ledger.ts';
import type { FleetAnswer, FleetCommand, FleetSettings } from './messages.ts';
import type { ConnectionCommand } from './open-schedule.ts';
import type { OpenSeries } from './open-series.ts';
import type { Pacer } from './pacer.ts';
import { optionsInTurn } from './source-ports.ts';

/** Acknowledgement ids of the ledger's own asking; the engine's request ids never get this high. */
const LEDGER_ACK_BASE = 2 ** 40;

const PORT_TAKEN = new Set(['EADDRINUSE', 'EADDRNOTAVAIL']);
const MAX_PORT_TRIES = 100;

export interface ConnectionParts {
  settings: FleetSettings;
  /** Which of how many fleet processes of the run this is. */
  share: { index: number; of: number };
  createClient: (slot: number, options: ClientOptions, sink: ClientSink) => Client;
  ledger: Ledger;
  connectTimes: ConnectTimes;
  openings: OpenSeries;
  pacer: Pacer;
  answer: (answer: FleetAnswer) => void;
}

export class Connections implements ClientSink {
  readonly counts = new Counts();
  readonly #parts: ConnectionParts;
  readonly #byId = new Map<number, Connection>();
  readonly #bySlot: (Connection | undefined)[] = [];
  readonly #joins: Joins;
  #nextLedgerAck = LEDGER_ACK_BASE;
  readonly #nextOptions: () => ClientOptions;

  constructor(parts: ConnectionParts) {
    this.#parts = parts;
    this.#joins = new Joins(parts.ledger);
    this.#nextOptions = optionsInTurn(parts.settings.defaults, parts.settings.localAddresses, parts.share);
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
    let connection = this.#byId.get(command.id);
    if (!connection) {
      connection = newConnection(command.id);
      this.#byId.set(command.id, connection);
    }
    const { namespace, requestId, options } = command;
    const emits = options?.emit && [{ op: 'emit' as const, id: command.id, namespace, ...options.emit }];
    connection.openings = connection.openings.concat({ namespace, requestId, begunAtUs: monotonicUs(), emits });
    if (!connection.client) {
      this.counts.attempts++;
      this.counts.connecting++;
      if (connection.attemptingSinceUs === 0) connection.attemptingSinceUs = monotonicUs();
      connection.overrides = options?.overrides;
      const slot = this.#bySlot.length;
      this.#bySlot.push(connection);
      connection.client = this.#parts.createClient(slot, this.#options(options?.overrides), this);
      // Known before the first packet: a server may speak as soon as it has accepted the namespace.
      if (command.interest) connection.client.interest = new Set(command.interest);
    }
    connection.client.connect(namespace);
  }

  #options(overrides: Partial<ClientOptions> | undefined): ClientOptions {
    const options = this.#nextOptions();
    return overrides ? { ...options, ...overrides } : options;
  }

  #emit(command: Emit): void {
    const { id, namespace, event, args, requestId } = command;
    const connection = this.#byId.get(id);
    const client = connection?.client;
    if (!client) return; // its end has been reported already
    const opening = openingOf(connection, namespace);
    if (opening) {
      opening.emits = [...(opening.emits ?? []), command];
      return;
    }
    let ackId = requestId;
    if (event === EVENTS.joinRoom && this.#parts.settings.ledger) {
      ackId ??= this.#nextLedgerAck++;
      this.#joins.asked(client.slot, ackId, args[0] as JoinRoom);
    }
    client.emit(namespace, event, args, ackId);
  }

  #interest({ id, event, wanted }: Extract<FleetCommand, { op: 'interest' }>): void {
    const client = this.#byId.get(id)?.client;
    if (!client) return;
    if (wanted) {
      client.interest ??= new Set();
      client.interest.add(event);
    } else if (client.interest?.delete(event) && client.interest.size === 0) client.interest = undefined;
  }

  #close(id: number, requestId: number): void {
    const connection = this.#byId.get(id);
    if (!connection?.client) {
      this.#byId.delete(id);
      this.#parts.answer({ op: 'left', requestId });
      return;
    }
    connection.leaving = requestId;
    this.#parts.pacer.add(() => {
      // A connection that never opened has nobody to take leave of, and would never report an end.
      if (connection.client && !connection.open) {
        connection.client.destroy();
        this.counts.connecting--;
        this.#failOpening(connection, 'closed', 'closed by the virtual user');
        this.#forget(connection);
      } else connection.client?.close();
    });
  }

  onOpen(client: Client, namespace: string, sessionId: string, timings: ConnectTimings | undefined): void {
    const connection = this.#bySlot[client.slot];
    if (!connection) return;
    const nowUs = monotonicUs();
    if (timings) {
      this.counts.opened++;
      this.counts.connected++;
      this.counts.connecting--;
      connection.open = true;
      this.#parts.connectTimes.record(timings, nowUs - connection.attemptingSinceUs);
      this.#parts.openings.record(nowUs);
      connection.attemptingSinceUs = 0;
      this.counts.assign(connection, workerOf(sessionId));
    }
    const opening = takeOpening(connection, namespace);
    if (opening === undefined) return;
    const { requestId, begunAtUs } = opening;
    this.#parts.answer({ op: 'opened', requestId, begunAtUs, openedAtUs: nowUs });
    for (const emit of opening.emits ?? []) this.#emit(emit);
  }

  onRefused(client: Client, namespace: string, message: string, data: unknown): void {
    const connection = this.#bySlot[client.slot];
    if (!connection) return;
    const requestId = takeOpening(connection, namespace)?.requestId;
    this.counts.failed('namespace_refused');
    if (requestId !== undefined) {
      this.#parts.answer({ op: 'failed', requestId, cause: 'namespace_refused', message, data });
    }
    if (!connection.open) {
      this.counts.connecting--;
      client.destroy();
      this.#drop(connection);
      if (connection.leaving !== undefined) this.#answerLeft(connection);
    }
  }

  onFailed(client: Client, cause: FailureCode, message: string): void {
    const connection = this.#bySlot[client.slot];
    if (!connection) return;
    if (this.#retryPort(connection, cause)) return;
    this.counts.failed(cause);
    this.counts.connecting--;
    this.#failOpening(connection, cause, message);
    this.#drop(connection);
    if (connection.leaving !== undefined) this.#answerLeft(connection);
  }

  /** A source port of our choosing may be somebody else's: the next one is tried, and nobody need know. */
  #retryPort(connection: Connection, cause: FailureCode): boolean {
    const failed = connection.client;
    if (!failed || !PORT_TAKEN.has(cause) || connection.portTries >= MAX_PORT_TRIES) return false;
    if (this.#parts.settings.client !== 'light') return false; // the official one leaves ports to the kernel
    const options = this.#options(connection.overrides);
    if (!options.localPort || connection.leaving !== undefined) return false;
    connection.portTries++;
    const client = this.#parts.createClient(failed.slot, options, this);
    client.interest = failed.interest;
    connection.client = client;
    for (const { namespace } of connection.openings) client.connect(namespace);
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
    this.#parts.ledger.receive(client.slot, seq, worker, receivedAtUs, copy);
  }

  onUnreadable(): void {
    this.#parts.ledger.receiveUnreadable();
  }

  onEvent(client: Client, namespace: string, event: string, args: unknown[]): void {
    const connection = this.#bySlot[client.slot];
    if (connection) this.#parts.answer({ op: 'event', id: connection.id, namespace, event, args });
  }

  onIgnored(): void {
    this.counts.ignoredEvents++;
  }

  onAck(client: Client, _namespace: string, ackId: number, args: unknown[]): void {
    const { slot } = client;
    const accepted = this.#joins.answered(slot, ackId, args[0]);
    const connection = this.#bySlot[slot];
    if (accepted && connection?.open) {
      if (accepted.worker !== undefined) this.counts.assign(connection, accepted.worker);
      this.#joins.entered(slot, accepted.room, connection.worker);
    }
    if (ackId < LEDGER_ACK_BASE) this.#parts.answer({ op: 'acked', requestId: ackId, args });
  }

  onClosed(client: Client, reason: string, namespace: string | undefined): void {
    const connection = this.#bySlot[client.slot];
    if (!connection) return;
    if (namespace !== undefined) {
      this.#parts.answer({ op: 'closed', id: connection.id, reason, namespace });
      return;
    }
    this.counts.connected--;
    this.counts.ended(reason);
    this.#failOpening(connection, 'closed', reason);
    if (connection.leaving !== undefined) {
      this.#forget(connection);
      return;
    }
    this.#drop(connection);
    this.#parts.answer({ op: 'closed', id: connection.id, reason });
  }

  onTraffic(receivedBytes: number, sentBytes: number): void {
    this.counts.receivedBytes += receivedBytes;
    this.counts.sentBytes += sentBytes;
  }

  #failOpening(connection: Connection, cause: FailureCode, message: string): void {
    for (const { requestId } of connection.openings) {
      this.#parts.answer({ op: 'failed', requestId, cause, message });
    }
    connection.openings = NO_OPENINGS;
  }

  /** The client is gone, the engine may open another one. */
  #drop(connection: Connection): void {
    const { client } = connection;
    if (!client) return;
    this.#joins.left(client.slot);
    this.#bySlot[client.slot] = undefined;
    this.counts.assign(connection, '');
    connection.client = undefined;
    connection.open = false;
  }

  #forget(connection: Connection): void {
    this.#drop(connection);
    this.#answerLeft(connection);
  }

  #answerLeft(connection: Connection): void {
    this.#byId.delete(connection.id);
    if (connection.leaving === undefined) return;
    this.#parts.answer({ op: 'left', requestId: connection.leaving });
    connection.leaving = undefined;
  }

  /** Drops everything at once; for the process's own end. */
  destroy(): void {
    for (const connection of this.#byId.values()) connection.client?.destroy();
    this.#byId.clear();
  }
}
