/** The top layer of a light connection: Socket.IO 5 over Engine.IO, with namespaces, events and acknowledgements. */

import type { ConnectTimings, RepeatedMessage } from '../../client/client.ts';
import { reportCopy } from '../../client/counted-event.ts';
import type { ConnectionFailure } from '../../client/failure.ts';
import { nestsDeeper } from '../../client/parser.ts';
import type { ConnectAttempt } from '../connect-attempt.ts';
import type { EngineIoPacket } from '../polling/payload.ts';
import { socketIo2Error, socketIoError } from '../protocol-error.ts';
import { type Packet, PacketType } from './codec.ts';
import { preparedMessage } from './prepared-message.ts';
import { SocketIoReader } from './reader.ts';

/**
 * Largest length of the message with which a server refuses a namespace. It is limited, because each connection sends
 * the message to the engine.
 */
const MAX_MESSAGE_LENGTH = 1000;
const NO_NAMESPACES: readonly string[] = [];
const NO_MESSAGES: readonly EngineIoPacket[] = [];

export class SocketIoConnection extends SocketIoReader {
  // Connected namespaces. The array is always replaced, because extending it makes V8 allocate room for 16 elements.
  namespaces = NO_NAMESPACES;
  #pending = NO_NAMESPACES;

  connect(namespace: string): void {
    if (this.state !== 'idle' && this.state !== 'connecting' && this.state !== 'open') return;
    if (this.namespaces.includes(namespace) || this.#pending.includes(namespace)) return;
    this.#pending = this.#pending.concat(namespace);
    if (this.state === 'idle') this.dial();
    else if (this.sessionId !== '') this.#request(namespace);
    if (this.state === 'open') this.setDeadline(this.options.connectTimeoutMs);
  }

  /** Sends an event. Discards it if the namespace is not connected. */
  emit(namespace: string, event: string, args: unknown[], ackId?: number): void {
    if (this.state !== 'open' || !this.namespaces.includes(namespace)) return;
    this.traffic.emits(event);
    this.sendMessages(
      this.shared.codec.encode({ type: PacketType.EVENT, nsp: namespace, data: [event, ...args], id: ackId }),
    );
  }

  repeat(message: RepeatedMessage, ackId?: number): boolean {
    if (this.state !== 'open' || !this.namespaces.includes(message.namespace)) return false;
    this.traffic.emits(message.event);
    const prepared = preparedMessage(this.shared.codec, message);
    // Frames that were prepared for all connections are sent only without compression, because compressed bytes differ
    // between connections.
    if (this.transport === 'polling' || this.deflate !== undefined) this.sendMessages(prepared.packets(ackId));
    else this.sendMessages(NO_MESSAGES, prepared.frames(ackId));
    return true;
  }

  protected override lastMessages(): EngineIoPacket[] {
    return this.namespaces.flatMap((nsp) => this.shared.codec.encode({ type: PacketType.DISCONNECT, nsp }));
  }

  protected override onTransportChanged(tookUs: number): void {
    this.sink.onUpgraded(tookUs);
  }

  protected override onTransportKept(failure: ConnectionFailure): void {
    this.sink.onUpgradeFailed(failure);
  }

  protected override onSession(): void {
    this.attempt?.beginStage('namespace');
    for (const namespace of this.#pending) this.#request(namespace);
  }

  protected override onFailed(failure: ConnectionFailure): void {
    this.sink.onFailed(failure);
  }

  protected override onClosed(reason: string, why?: ConnectionFailure): void {
    this.sink.onClosed(reason, undefined, why);
  }

  protected override onOverdue(): void {
    const overdue = this.#pending;
    this.#pending = NO_NAMESPACES;
    for (const namespace of overdue) this.sink.onRefused(namespace, 'timeout_namespace', undefined);
  }

  #request(nsp: string): void {
    const { codec } = this.shared;
    const { auth } = this.options;
    const { pid, offset } = this.sessionOf(nsp) ?? {};
    const data = pid === undefined ? auth : { pid, offset, ...auth };
    this.sendMessages(codec.encode({ type: PacketType.CONNECT, nsp, data }));
  }

  protected override onDecoded({ type, nsp, data, id }: Packet, isReported: boolean): void {
    if (nestsDeeper(data)) throw socketIoError('data that is nested too deeply');
    if (type === PacketType.EVENT || type === PacketType.ACK) {
      if (data !== undefined && !Array.isArray(data)) throw socketIoError('arguments that are not a list');
      if (type === PacketType.EVENT) {
        if (data === undefined) {
          this.#onNameless(nsp, id);
          return;
        }
        this.#onEvent(nsp, String(data[0]), data.slice(1), isReported);
        if (id !== undefined) this.acknowledge({ namespace: nsp, id });
        else if (this.sessions.length > 0) this.#keepOffset(nsp, data.at(-1));
      } else if (id !== undefined) this.sink.onAck(nsp, id, data ?? []);
    } else if (type === PacketType.CONNECT) this.#onConnected(nsp, data);
    else if (type === PacketType.CONNECT_ERROR) this.#onRefused(nsp, data);
    else if (this.namespaces.includes(nsp)) this.#onDisconnected(nsp);
  }

  /** Handles an event without a name. Throws as socket.io-client does, unless the event requests an acknowledgement. */
  #onNameless(namespace: string, ackId: number | undefined): void {
    if (ackId === undefined && this.namespaces.includes(namespace)) throw new Error('an event without a name');
  }

  /** Keeps the event's last argument as the session's offset if it is a string, as socket.io-client does. */
  #keepOffset(namespace: string, last: unknown): void {
    const session = this.sessionOf(namespace);
    if (session && typeof last === 'string') session.offset = last;
  }

  #onEvent(namespace: string, event: string, args: unknown[], isReported: boolean): void {
    const isWanted = this.interest?.has(event) === true;
    const { counted, receivedAtUs } = this.shared;
    if (event === counted?.event && !isReported) {
      reportCopy(counted, this.sink, { namespace, args, atUs: receivedAtUs });
    }
    if (isWanted && this.isReading) this.sink.onEvent(namespace, event, args);
  }

  /**
   * Sends an acknowledgement to the server.
   * @param request acknowledgement that the server requested; undefined if it requested none
   */
  protected override acknowledge(request: { namespace: string; id: number } | undefined): void {
    const { acknowledge } = this.options;
    if (request === undefined || acknowledge === undefined || this.state !== 'open') return;
    const { namespace: nsp, id } = request;
    if (this.namespaces.includes(nsp)) {
      this.sendMessages(this.shared.codec.encode({ type: PacketType.ACK, nsp, id, data: acknowledge }));
    }
  }

  #onConnected(namespace: string, data: { sid?: unknown; pid?: unknown } | undefined): void {
    if (!this.#pending.includes(namespace)) return;
    if (typeof data?.sid !== 'string') throw socketIo2Error();
    this.#settle(namespace);
    this.namespaces = this.namespaces.concat(namespace);
    const timings = this.attempt && timingsOf(this.attempt);
    this.opened();
    const isRecovered = this.#keepSession(namespace, data.pid);
    this.sink.onOpen(namespace, this.sessionId, timings, isRecovered);
  }

  /**
   * Stores the private session id (`pid`) of a namespace.
   * @returns whether the server has restored the requested session
   */
  #keepSession(namespace: string, pid: unknown): boolean {
    if (this.options.keepsSessions !== true) return false;
    const session = this.sessionOf(namespace);
    if (typeof pid !== 'string') {
      if (session) this.sessions = this.sessions.filter((other) => other !== session);
    } else if (session) {
      if (session.pid === pid) return true;
      // A new session keeps the old offset, as in socket.io-client.
      session.pid = pid;
    } else this.sessions = this.sessions.concat({ namespace, pid, offset: undefined });
    return false;
  }

  /** Handles a refused namespace. Closes the connection if no other namespace is open or pending. */
  #onRefused(namespace: string, data: { message?: unknown; data?: unknown } | string | undefined): void {
    const isOpen = this.namespaces.includes(namespace);
    if (!isOpen && !this.#pending.includes(namespace)) return;
    if (data === undefined) throw new Error('a refusal without data');
    if (isOpen) {
      this.#onDisconnected(namespace);
      return;
    }
    const error = typeof data === 'object' ? data : { message: data };
    // The message is converted before any state changes, because converting can throw.
    const message = String(error.message).slice(0, MAX_MESSAGE_LENGTH);
    this.#settle(namespace);
    const isLast = this.namespaces.length + this.#pending.length === 0;
    const wasOpen = this.state === 'open';
    if (isLast) this.depart();
    this.sink.onRefused(namespace, message, error.data);
    if (isLast && wasOpen) this.sink.onClosed('io server disconnect', undefined);
  }

  #onDisconnected(namespace: string): void {
    this.namespaces = this.namespaces.filter((other) => other !== namespace);
    if (this.namespaces.length + this.#pending.length === 0) this.leave('io server disconnect');
    else this.sink.onClosed('io server disconnect', namespace);
  }

  /** Removes a namespace from the pending namespaces, when the server has answered. */
  #settle(namespace: string): void {
    this.#pending = this.#pending.length === 1 ? NO_NAMESPACES : this.#pending.filter((other) => other !== namespace);
    if (this.#pending.length === 0) this.deadlineMs = 0;
  }
}

function timingsOf(attempt: ConnectAttempt): ConnectTimings {
  const { tcp, tls, upgrade, open } = attempt.endsUs;
  const ends = { tcpUs: tcp, tlsUs: tls, upgradeUs: upgrade, openUs: open, namespaceUs: attempt.elapsedUs() };
  return { ...ends, tlsResumed: attempt.tlsResumed };
}
