/**
 * Fleet client that uses socket.io-client. It costs several times more memory and CPU than the light client, but it is
 * the original library.
 */

import { Manager, type Socket } from 'socket.io-client';
import { monotonicUs } from '../../../protocol/base/clock/clock.ts';
import { printableLine } from '../../../protocol/base/printable.ts';
import { CLIENT_DISCONNECT_REASON, MAX_PAYLOAD_BYTES } from '../../../protocol/wire/connection.ts';
import { guardClient } from '../../../protocol/wire/guard-client.ts';
import {
  type Client,
  type ClientOptions,
  type ClientSink,
  ClientTraffic,
  type Heartbeat,
  NO_SESSIONS,
  type RecoverableSession,
  type RepeatedMessage,
  type TransportState,
} from '../client/client.ts';
import { type EventPlan, reportCopy } from '../client/counted-event.ts';
import {
  type ConnectionFailure,
  NO_UPGRADE_FAILURE,
  networkFailure,
  SOCKET_IO_2_FAILURE,
  tooLargeText,
} from '../client/failure.ts';
import { requireShallow } from '../client/parser.ts';
import { SeenEvents } from '../client/seen-events.ts';
import { ANY_EVENT } from '../fleet-messages.ts';
import {
  hasExtensions,
  isUnknownAck,
  keepOwnCookies,
  normalizeTextRefusal,
  recoverableSessionOf,
  resumeSession,
  unfinishedBytes,
  type WsSocket,
  watchEngine,
  watchUpgrade,
} from './internals.ts';
import { checkConnectionOptions, managerOptions } from './manager-options.ts';
import {
  closeFailure,
  connectFailureOf,
  failureBeforeNamespace,
  timeoutFailure,
  upgradeRefusal,
} from './official-failure.ts';

/**
 * Largest length of the kept text of the server's last message. The text is reported if the server opens no namespace.
 */
const MAX_MESSAGE_LENGTH = 300;
/** Events received by the clients of this process. */
const events = new SeenEvents();

export class OfficialClient implements Client {
  readonly traffic = new ClientTraffic();
  interest: Set<string> | undefined = undefined;
  readonly #options: ClientOptions;
  readonly #sink: ClientSink;
  readonly #counted: EventPlan | undefined;
  /** Sessions that the connection's previous client had, which the server may restore. */
  readonly #former: readonly RecoverableSession[];
  #state: 'idle' | 'connecting' | 'open' | 'gone' = 'idle';
  #manager: Manager | undefined;
  #webSocket: WsSocket;
  #timer: NodeJS.Timeout | undefined;
  #startedAtUs = 0;
  #openUs: number | undefined;
  transport: TransportState = 'websocket';
  isUpgrading = false;
  isCompressed = false;
  heartbeat: Heartbeat | undefined;
  /** Payload of the last message that was received before the namespace opened. */
  #lastMessage: unknown;
  readonly #connected = new Map<string, Socket>();
  readonly #pending = new Map<string, Socket>();

  constructor(
    options: ClientOptions,
    sink: ClientSink,
    counted: EventPlan | undefined,
    former: readonly RecoverableSession[] = NO_SESSIONS,
  ) {
    this.#former = former;
    this.#options = options;
    this.#sink = sink;
    this.#counted = counted;
  }

  get namespaces(): readonly string[] {
    return [...this.#connected.keys()];
  }

  get sessions(): readonly RecoverableSession[] {
    if (!this.#options.keepsSessions) return NO_SESSIONS;
    return [...this.#connected, ...this.#pending].flatMap(
      ([namespace, socket]) => recoverableSessionOf(namespace, socket) ?? [],
    );
  }

  connect(namespace: string): void {
    if (this.#state === 'gone' || this.#connected.has(namespace) || this.#pending.has(namespace)) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#onTimeout(), this.#options.connectTimeoutMs);
    try {
      const manager = this.#manager ?? this.#start();
      const socket = manager.socket(namespace, { auth: this.#options.auth });
      this.#pending.set(namespace, socket);
      const session = this.#former.find((one) => one.namespace === namespace);
      if (session) resumeSession(socket, session);
      if (!socket.hasListeners('connect')) this.#listen(namespace, socket);
      socket.connect();
      if (this.#state === 'idle') this.#watchEngineIo(manager);
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      // An error without a code is caused by a URL with an invalid query.
      const failure: ConnectionFailure = code ? networkFailure(error as Error) : { cause: 'ERR_INVALID_URI', message };
      process.nextTick(() => this.#fail(failure));
    }
    if (this.#state === 'idle') this.#state = 'connecting';
  }

  emit(namespace: string, event: string, args: unknown[], ackId?: number): void {
    const socket = this.#connected.get(namespace);
    if (socket === undefined || this.#state !== 'open') return;
    this.traffic.emits(event);
    if (ackId === undefined) socket.emit(event, ...args);
    else {
      socket.emit(event, ...args, (...answer: unknown[]) => {
        if (this.#state !== 'gone') this.#sink.onAck(namespace, ackId, answer);
      });
    }
  }

  repeat({ namespace, event, args }: RepeatedMessage, ackId?: number): boolean {
    if (!this.#connected.has(namespace) || this.#state !== 'open') return false;
    this.emit(namespace, event, args, ackId);
    return true;
  }

  close(): void {
    if (this.#state === 'idle' || this.#state === 'gone') return;
    const wasOpen = this.#state === 'open';
    this.#end();
    for (const socket of [...this.#connected.values(), ...this.#pending.values()]) socket.disconnect();
    process.nextTick(() => {
      if (wasOpen) this.#sink.onClosed(CLIENT_DISCONNECT_REASON, undefined);
      else this.#sink.onFailed({ cause: 'closed', message: 'closed by the client before it was open' });
    });
  }

  destroy(): void {
    this.#end();
    // The WebSocket is terminated first: engine.io-client's close waits for the server, and may never complete.
    this.#webSocket?.terminate();
    this.#manager?.engine?.close();
  }

  #start(): Manager {
    checkConnectionOptions(this.#options);
    this.#startedAtUs = monotonicUs();
    const manager = new Manager(new URL(this.#options.url).origin, managerOptions(this.#options));
    guardClient(manager, { inspect: requireShallow, onUnreadable: (error) => this.#onUnreadable(error) });
    // The Manager's timeout is disabled, because the fleet's own timeout covers the whole attempt with the namespace.
    manager.timeout(false);
    manager.on('open', () => this.#onManagerOpen(manager));
    manager.on('error', (error) => this.#fail(connectFailureOf(error)));
    manager.on('close', (reason, details) => this.#onEnd(reason, details));
    manager.on('packet', (packet) => {
      normalizeTextRefusal(packet);
      if (this.#state !== 'gone' && isUnknownAck(this.#connected.get(packet.nsp), packet)) this.#sink.onUnknownAck();
    });
    this.#manager = manager;
    return manager;
  }

  #onManagerOpen({ engine }: Manager): void {
    this.#openUs = monotonicUs() - this.#startedAtUs;
    this.isCompressed = hasExtensions(engine.transport);
    if (engine.transport.name !== 'polling') return;
    this.transport = 'polling';
    this.isUpgrading = watchUpgrade(
      engine,
      () => this.#onUpgraded(engine),
      (failure) => this.#onUpgradeFailed(engine, failure),
    );
    if (!this.isUpgrading && this.#options.transports.includes('websocket'))
      this.#sink.onUpgradeFailed(NO_UPGRADE_FAILURE);
  }

  #onUpgraded(engine: Manager['engine']): void {
    if (this.#state === 'gone') return;
    this.transport = 'upgraded';
    this.isUpgrading = false;
    this.isCompressed = hasExtensions(engine.transport);
    this.#sink.onUpgraded(monotonicUs() - this.#startedAtUs - (this.#openUs ?? 0));
  }

  #onUpgradeFailed(engine: Manager['engine'], failure: ConnectionFailure): void {
    // If the session ends during the upgrade, the upgrade fails, too. The end of the session itself is reported
    // elsewhere.
    if (this.#state === 'gone' || engine.readyState !== 'open') return;
    this.isUpgrading = false;
    this.#sink.onUpgradeFailed(failure);
  }

  #watchEngineIo({ engine }: Manager): void {
    keepOwnCookies(engine, this.#options.headers);
    watchEngine(engine, {
      onWebSocket: (webSocket) => (this.#webSocket = webSocket),
      onRefused: (response) => this.#fail(upgradeRefusal(response)),
      // While the engine is opening, the Manager does not report a close without an error.
      onEnd: (reason, details) => this.#onEnd(reason, details),
      onHandshake: (announced) => {
        if (this.heartbeat) throw new Error('a second Engine.IO handshake');
        this.traffic.announced = announced;
        this.heartbeat = { ...announced, pings: 0, lastPacketAtMs: performance.now() };
      },
      onPacket: (type, data) => {
        if (type === 'message' && this.#state === 'connecting') this.#lastMessage = data;
        if (!this.heartbeat) return;
        this.heartbeat.lastPacketAtMs = performance.now();
        if (type === 'ping') this.heartbeat.pings++;
      },
      onSend: (message) => this.traffic.sends([message]),
    });
  }

  #listen(namespace: string, socket: Socket): void {
    socket.on('connect', () => this.#onConnect(namespace, socket));
    socket.on('connect_error', (error: Error & { data?: unknown }) => {
      if (this.#state === 'gone') return;
      // Only errors from the server have the key `data`.
      if ('data' in error) this.#onRefused(namespace, error.message, error.data);
      else
        this.#fail(
          /v2\.x/.test(error.message) ? SOCKET_IO_2_FAILURE : { cause: 'not_socketio', message: error.message },
        );
    });
    socket.on('disconnect', (reason) => {
      if (reason === 'io server disconnect') this.#onServerDisconnect(namespace);
    });
    socket.onAny((event: unknown, ...args: unknown[]) => this.#onEvent(namespace, String(event), args));
  }

  #onConnect(namespace: string, socket: Socket): void {
    if (this.#state === 'gone' || !this.#pending.has(namespace)) return;
    this.#settle(namespace);
    this.#connected.set(namespace, socket);
    const isFirst = this.#state === 'connecting';
    this.#state = 'open';
    const timings = isFirst ? { openUs: this.#openUs, namespaceUs: monotonicUs() - this.#startedAtUs } : undefined;
    this.#sink.onOpen(namespace, this.#manager?.engine.id ?? '', timings, Boolean(socket.recovered));
  }

  #onRefused(namespace: string, message: string, data: unknown): void {
    if (this.#connected.has(namespace)) {
      this.#onServerDisconnect(namespace);
      return;
    }
    const wasOpen = this.#state === 'open';
    this.#settle(namespace);
    const isLast = this.#pending.size + this.#connected.size === 0;
    if (isLast) this.#end();
    this.#sink.onRefused(namespace, message, data);
    if (isLast && wasOpen) this.#sink.onClosed('io server disconnect', undefined);
  }

  #onServerDisconnect(namespace: string): void {
    if (this.#state === 'connecting') this.#fail({ cause: 'closed', message: 'io server disconnect' });
    if (this.#state !== 'open') return;
    this.#connected.delete(namespace);
    const isLast = this.#pending.size + this.#connected.size === 0;
    if (isLast) this.#end();
    this.#sink.onClosed('io server disconnect', isLast ? undefined : namespace);
  }

  #onEvent(namespace: string, event: string, args: unknown[]): void {
    if (this.#state === 'gone') return;
    const answer = typeof args.at(-1) === 'function' ? (args.pop() as (...args: unknown[]) => void) : undefined;
    const { interest } = this;
    const atUs = monotonicUs();
    // The event is reported before it is counted, so that counting does not delay a client that sends the event back.
    if (interest?.has(event) || interest?.has(ANY_EVENT)) this.#sink.onEvent(namespace, event, args);
    this.traffic.receives(events.decoded(event, args));
    if (event === this.#counted?.event) reportCopy(this.#counted, this.#sink, { namespace, args, atUs });
    const { acknowledge } = this.#options;
    if (answer && acknowledge && this.#state === 'open') answer(...acknowledge);
  }

  /** Handles a packet that the library could not read. */
  #onUnreadable({ message }: Error): void {
    if (this.#state === 'connecting') this.#fail({ cause: 'unreadable_data', message });
    else if (this.#state === 'open') {
      this.destroy();
      this.#sink.onClosed('parse error', undefined);
    }
  }

  #onEnd(reason: string, details: unknown): void {
    // The library has closed the transport after a refusal or a parse error, which it reports next.
    if (reason === 'forced close') return;
    if (this.#state === 'connecting') this.#fail(this.#withSizes(failureBeforeNamespace(reason, details)));
    else if (this.#state === 'open') {
      this.#end();
      const why = this.#withSizes(closeFailure(reason, details));
      const said = why.cause === 'message_too_large' ? 'message too large' : reason;
      this.#sink.onClosed(said, undefined, why);
    }
  }

  #withSizes(failure: ConnectionFailure): ConnectionFailure {
    if (failure.cause !== 'message_too_large') return failure;
    const maxBytes = this.#options.maxPayloadBytes ?? MAX_PAYLOAD_BYTES;
    return { ...failure, message: tooLargeText(maxBytes, unfinishedBytes(this.#webSocket)) };
  }

  #onTimeout(): void {
    if (this.#state === 'connecting') {
      const stage = this.#openUs === undefined ? 'open' : 'namespace';
      this.#fail(timeoutFailure(stage, this.#options.connectTimeoutMs));
      return;
    }
    const overdue = [...this.#pending.keys()];
    this.#pending.clear();
    for (const namespace of overdue) this.#sink.onRefused(namespace, 'timeout_namespace', undefined);
  }

  #fail(failure: ConnectionFailure): void {
    if (this.#state !== 'connecting') return;
    const after = this.heartbeat && {
      transport: this.#manager?.engine.transport.name === 'polling' ? ('polling' as const) : ('websocket' as const),
      isEngineIo4: this.traffic.announced.maxPayloadBytes > 0,
      sent: printableLine(JSON.stringify(this.#lastMessage) ?? '', MAX_MESSAGE_LENGTH),
    };
    this.destroy();
    this.#sink.onFailed(after ? { ...failure, after } : failure);
  }

  #end(): void {
    this.#state = 'gone';
    clearTimeout(this.#timer);
  }

  #settle(namespace: string): void {
    this.#pending.delete(namespace);
    if (this.#pending.size === 0) clearTimeout(this.#timer);
  }
}
