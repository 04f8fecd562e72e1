/**
 * A connection of the engine in its fleet process: runs the engine's commands on a client, and handles the client's
 * reports. Each reconnect creates a new client.
 */
import { monotonicUs } from '../../../../protocol/base/clock/clock.ts';
import { mapTexts, removeValues } from '../../../../protocol/base/secrets/known-secrets.ts';
import { collectConnectionSecrets } from '../../../../protocol/base/secrets/masked-values.ts';
import { addToOwnCounter } from '../../../../protocol/base/sum-counts.ts';
import { CONTRACT_EVENTS } from '../../../../protocol/wire/events.ts';
import {
  type Client,
  type ClientOptions,
  type ClientSink,
  type ClientState,
  type ConnectTimings,
  type EventCopy,
  FIRST_REPEATED_ACK_ID,
  NO_SESSIONS,
  type TransportState,
} from '../../client/client.ts';
import type { ConnectionFailure } from '../../client/failure.ts';
import type { ConnectionCommand, EmitCommand } from '../../fleet-messages.ts';
import type { AckConnection } from '../acknowledgements.ts';
import { closeKindOf } from '../counts/close-counts.ts';
import { EventCounter } from '../counts/event-counts.ts';
import { FINALIZED_ID } from '../ledger/process-sightings.ts';
import { NO_SENDERS, type SendingConnection } from '../messages/sender.ts';
import type { FleetProcessParts } from '../process-parts.ts';
import { EventListening } from './listening.ts';
import {
  failEmit,
  failPendingNamespace,
  NO_PENDING_NAMESPACES,
  NOT_CONNECTED_FAILURE,
  type PendingNamespace,
} from './pending-namespace.ts';
import { type DroppedConnectionState, NO_JOINS, type ReturningConnection } from './reconnects.ts';

type Command<Op extends ConnectionCommand['op']> = Extract<ConnectionCommand, { op: Op }>;

const NO_EMITS: readonly EmitCommand[] = [];

export class Connection implements ClientSink, AckConnection, ReturningConnection, SendingConnection {
  readonly id: number;
  client: Client | undefined = undefined;
  slot = -1;
  worker = '';
  namedByJoin = false;
  open = false;
  transport: TransportState | undefined = undefined;
  isUpgrading = false;
  isCompressed = false;
  awaited: AckConnection['awaited'] = undefined;
  isMember = false;
  rooms: readonly string[] | undefined = undefined;
  senders: SendingConnection['senders'] = NO_SENDERS;
  unanswered: SendingConnection['unanswered'] = undefined;
  joins: ReturningConnection['joins'] = NO_JOINS;
  away: DroppedConnectionState | undefined = undefined;
  eventCounter: EventCounter | undefined = undefined;
  readonly #parts: FleetProcessParts;
  #pending = NO_PENDING_NAMESPACES;
  /** Time at which the connection last opened, in whole milliseconds of `performance.now()`. */
  #openedAtMs = 0;
  /** Time of the first attempt to connect since the connection was last open; 0 while it is open. */
  #attemptingSinceUs = 0;
  /** Request id of the `close` command; undefined until the command arrives. */
  #closeRequestId: number | undefined = undefined;
  #overrides: Partial<ClientOptions> | undefined = undefined;
  /** Received events that the engine has asked for; undefined if it has asked for none. */
  #listening: EventListening | undefined = undefined;

  constructor(id: number, parts: FleetProcessParts) {
    this.id = id;
    this.#parts = parts;
  }

  get isClosing(): boolean {
    return this.#closeRequestId !== undefined;
  }

  /** Returns the client's state; undefined if the connection is neither connecting nor open. */
  describe(): ClientState | undefined {
    if (!this.client) return undefined;
    const { transport, isCompressed, isUpgrading, heartbeat } = this.client;
    return { transport, isCompressed, isUpgrading, heartbeat };
  }

  run(command: ConnectionCommand): void {
    if (command.op === 'open') this.#open(command);
    else if (command.op === 'emit') this.#emit(command);
    else if (command.op === 'enter') this.#enter(command);
    else if (command.op === 'repeat') this.#parts.repeatedMessages.start(this, command.key);
    else if (command.op === 'listen') this.#listen(command);
    else this.#close(command);
  }

  /** Opens a namespace. Opens the connection first if needed. */
  #open({ id, namespace, requestId, options }: Command<'open'>): void {
    const emits = options?.emit ? [{ op: 'emit' as const, id, namespace, ...options.emit }] : NO_EMITS;
    this.#pending = this.#pending.concat({ namespace, requestId, begunAtUs: monotonicUs(), emits });
    if (this.client) this.client.connect(namespace);
    // A dropped connection opens the namespace when it reconnects.
    else if (!this.away) {
      if (this.#attemptingSinceUs === 0) this.#attemptingSinceUs = monotonicUs();
      this.#overrides = options?.overrides;
      this.#connect();
    }
  }

  reconnect(): void {
    this.#parts.faultAccount?.attempted(this.id);
    this.#connect();
  }

  #connect(): void {
    const { dialer, counts, ledger } = this.#parts;
    const { sessions = NO_SESSIONS, waiting = [] } = this.away ?? {};
    if (sessions.length === 0) this.slot = ledger.members.newSlot();
    const client = dialer.dial(this, this.#overrides, sessions);
    // The client gets the names of the requested events before it connects, because a server can send an event as soon
    // as the namespace is open.
    client.interest = this.#listening?.names;
    const { countedEvents } = this.#parts.settings;
    if (countedEvents) {
      this.eventCounter ??= new EventCounter(countedEvents);
      client.traffic.counter = this.eventCounter;
    }
    this.client = client;
    counts.connecting++;
    for (const namespace of waiting) client.connect(namespace);
    for (const { namespace } of this.#pending) client.connect(namespace);
  }

  #emit(command: EmitCommand): void {
    const { joinEvent, settings } = this.#parts;
    const { namespace, event, args } = command;
    if (!this.client) {
      failEmit(command, NOT_CONNECTED_FAILURE, this.#parts.answer);
      return;
    }
    const pending = this.#findPending(namespace);
    if (pending) {
      pending.emits = [...pending.emits, command];
      return;
    }
    if (event === joinEvent && settings.reconnection) this.joins = this.joins.concat({ namespace, event, args });
    this.send(command);
  }

  send(command: EmitCommand): void {
    const { rooms, acknowledgements } = this.#parts;
    const { namespace, event } = command;
    const sent = rooms && event === CONTRACT_EVENTS.joinRoom ? rooms.joinsOf(command) : [command];
    for (const one of sent) this.client?.emit(namespace, event, one.args, acknowledgements.request(this, one));
  }

  #enter({ namespace, rooms }: Command<'enter'>): void {
    this.rooms = rooms;
    if (this.open) this.#parts.acknowledgements.connected(this, [namespace]);
  }

  #listen({ id, namespace, event, mode }: Command<'listen'>): void {
    this.#listening ??= new EventListening();
    const { events, displaced } = this.#listening.set(namespace, event, mode);
    if (this.client) this.client.interest = this.#listening.names;
    const atUs = monotonicUs();
    if (mode !== 'drop')
      for (const args of events) this.#parts.answer({ op: 'event', id, namespace, event, args, atUs });
    this.#displaced(displaced);
  }

  #close({ requestId }: Command<'close'>): void {
    const { repeatedMessages, pacer } = this.#parts;
    repeatedMessages.end(this);
    this.#closeRequestId = requestId;
    if (this.client) pacer.add(() => this.#closeClient());
    else this.#leave();
  }

  #closeClient(): void {
    if (this.open) this.client?.close();
    else if (this.client) {
      // A connection that is not open cannot send a close packet, and would never report its end.
      this.client.destroy();
      this.#leave();
    }
  }

  onOpen(namespace: string, sessionId: string, timings: ConnectTimings | undefined, isRecovered: boolean): void {
    const { acknowledgements, answer, returns } = this.#parts;
    const nowUs = monotonicUs();
    if (timings) this.#onTransportOpen(workerOf(sessionId), timings, nowUs);
    const pending = this.#takePending(namespace);
    if (pending === undefined) {
      returns.settled(this, namespace, isRecovered ? 'restored' : 'opened');
      return;
    }
    acknowledgements.connected(this, [namespace]);
    const { requestId, begunAtUs, emits } = pending;
    answer({ op: 'opened', requestId, begunAtUs, openedAtUs: nowUs });
    for (const emit of emits) this.#emit(emit);
  }

  #onTransportOpen(worker: string, timings: ConnectTimings, nowUs: number): void {
    const { counts, connecting, faultAccount, returns } = this.#parts;
    this.open = true;
    this.#openedAtMs = Math.round(performance.now());
    if (this.client) counts.opened(this, this.client, worker);
    connecting.openings++;
    if (this.away) {
      returns.reconnected(this.away);
      faultAccount?.returned(this.id);
      return;
    }
    // The connect time starts with the first attempt, and includes all retries.
    connecting.opened(timings, nowUs, nowUs - this.#attemptingSinceUs);
    this.#attemptingSinceUs = 0;
  }

  onUpgraded(tookUs: number): void {
    this.#parts.connecting.changed(tookUs);
    this.#changeTransport();
  }

  onUpgradeFailed({ cause }: ConnectionFailure): void {
    addToOwnCounter(this.#parts.counts.upgradeFailures, cause, 1);
    this.#changeTransport();
  }

  #changeTransport(): void {
    if (this.client && this.open) this.#parts.counts.carry(this, this.client);
  }

  onRefused(namespace: string, message: string, data: unknown): void {
    const failure = this.#withoutSecrets({ cause: 'namespace_refused', message, data });
    if (!this.open) {
      this.client?.destroy();
      this.#endAttempt(failure);
      return;
    }
    const pending = this.#takePending(namespace);
    if (pending) failPendingNamespace(pending, failure, this.#parts.answer);
    this.#parts.returns.settled(this, namespace, 'refused', failure.message);
  }

  onFailed(failure: ConnectionFailure): void {
    this.#endAttempt(this.#withoutSecrets(failure));
  }

  onCopy(id: string | number, receivedAtUs: number, copy: EventCopy): void {
    const { ledger, sightings } = this.#parts;
    if (typeof id === 'number') ledger.receive(this.slot, id, receivedAtUs, copy);
    else {
      const number = sightings.numberOf(id, receivedAtUs, copy);
      if (number === FINALIZED_ID) ledger.receiveLate();
      else ledger.receive(this.slot, number, receivedAtUs, copy);
    }
  }

  onUnreadable(json?: () => string): void {
    this.#parts.ledger.receiveUnreadable();
    this.#parts.sightings.unmatched(json);
  }

  onEvent(namespace: string, event: string, args: unknown[]): void {
    const atUs = monotonicUs();
    const mode = this.#listening?.put(namespace, event, args);
    if (mode !== 'take' && mode !== 'each') return;
    const report = { op: 'event' as const, id: this.id, namespace, event, args, atUs };
    this.#parts.answer(mode === 'each' ? { ...report, each: true } : report);
  }

  onAck(_namespace: string, ackId: number, args: unknown[]): void {
    const { acknowledgements, repeatedMessages, counts } = this.#parts;
    counts.acknowledged(args, this);
    if (ackId < FIRST_REPEATED_ACK_ID) acknowledgements.received(this, ackId, args);
    else if (!repeatedMessages.acknowledged(this, ackId)) counts.unknownAcks++;
  }

  onUnknownAck(): void {
    this.#parts.counts.unknownAcks++;
  }

  onClosed(reason: string, namespace: string | undefined, why?: ConnectionFailure): void {
    const { id, client } = this;
    if (!client) return;
    const { answer, connecting, ends, faultAccount, returns } = this.#parts;
    const { heartbeat } = client;
    const find = () => closeKindOf(client, reason, performance.now() - this.#openedAtMs, why, this.secrets());
    if (namespace !== undefined) {
      answer({ op: 'closed', id, reason, namespace, ...(heartbeat && { end: { found: find(), heartbeat } }) });
      return;
    }
    this.#failAll({ cause: 'closed', message: reason });
    const willReturn = !this.isClosing && returns.begin(this, client, reason);
    faultAccount?.dropped(id, reason, willReturn);
    if (this.isClosing) {
      this.#leave(reason);
      return;
    }
    connecting.overTime.ended.record(monotonicUs());
    const found = find();
    ends.record(found);
    this.#drop(reason);
    const closed = { op: 'closed' as const, id, reason, ...(willReturn && { returns: true as const }) };
    answer({ ...closed, ...(heartbeat && { end: { found, heartbeat } }) });
  }

  #endAttempt(failure: ConnectionFailure): void {
    const { connecting, faultAccount, returns } = this.#parts;
    this.#failAll(failure);
    connecting.failed();
    faultAccount?.failed(this.id, failure.cause);
    this.#drop(failure.message);
    if (this.away) this.away.failure = failure.message;
    if (this.isClosing) this.#leave(failure.message);
    else returns.schedule(this);
  }

  /** Records that the connection's current client has ended. A new client can open the connection again. */
  #drop(reason: string): void {
    if (!this.client) return;
    const { acknowledgements, repeatedMessages, counts } = this.#parts;
    acknowledgements.left(this, reason);
    repeatedMessages.disconnected(this);
    counts.dropped(this, Math.round(performance.now()) - this.#openedAtMs);
    this.eventCounter?.interrupt();
    this.client = undefined;
    this.open = false;
  }

  /** Removes the connection after the virtual user has closed it. */
  #leave(reason = 'closed by the virtual user'): void {
    const { answer, connections, returns } = this.#parts;
    const requestId = this.#closeRequestId;
    this.#drop(reason);
    this.#failAll({ cause: 'closed', message: reason });
    returns.cancel(this);
    connections.delete(this.id);
    this.#displaced(this.#listening?.displaced ?? 0);
    if (requestId !== undefined) answer({ op: 'left', requestId });
  }

  /** Reports the number of held events that were discarded, so that the engine cannot take them any more. */
  #displaced(count: number): void {
    if (count > 0) this.#parts.answer({ op: 'displaced', id: this.id, count });
  }

  #findPending(namespace: string): PendingNamespace | undefined {
    for (const one of this.#pending) if (one.namespace === namespace) return one;
    return undefined;
  }

  #takePending(namespace: string): PendingNamespace | undefined {
    const taken = this.#findPending(namespace);
    const others = this.#pending.filter((one) => one !== taken);
    this.#pending = others.length === 0 ? NO_PENDING_NAMESPACES : others;
    return taken;
  }

  #failAll(failure: ConnectionFailure): void {
    const all = this.#pending;
    this.#pending = NO_PENDING_NAMESPACES;
    for (const pending of all) failPendingNamespace(pending, failure, this.#parts.answer);
  }

  /**
   * Masks this connection's secrets in a failure, because some servers repeat a refused token. The engine masks the
   * secrets of all connections when it stores the text.
   */
  #withoutSecrets(failure: ConnectionFailure): ConnectionFailure {
    const secrets = this.secrets();
    return secrets ? mapTexts(failure, (text) => removeValues(text, secrets)) : failure;
  }

  secrets(): string[] | undefined {
    return this.#overrides && collectConnectionSecrets(this.#overrides);
  }
}

/**
 * Returns the worker at the start of a session id, as in `w0-…` of the tool's own servers; `''` for other session ids.
 */
function workerOf(sessionId: string): string {
  return /^([a-z0-9]+)-/.exec(sessionId)?.[1] ?? '';
}
