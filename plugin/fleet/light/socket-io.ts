/** The highest layer of a light connection: Socket.IO 5 over Engine.IO, with namespaces, events and acknowledgements. */

import type { FailureCode } from '../../../protocol/codes/failure-codes.ts';
import {
  type AwaitedPayload,
  type Client,
  type ClientOptions,
  type ClientSink,
  type ConnectTimings,
  type CountedEvent,
  type InPlaceReader,
  NO_SESSIONS,
  type RecoverableSession,
} from '../client.ts';
import { nestsDeeper } from '../nesting.ts';
import { FIRST_REPEATED_ACK_ID, type RepeatedMessage } from '../repeated-message.ts';
import { SOCKET_IO_2 } from '../socket-io-2.ts';
import type { Attempt } from './attempt.ts';
import { type Packet, type PacketCodec, type PacketDecoder, PacketType } from './codec.ts';
import { EngineIoConnection, encodeMessages } from './engine-io.ts';
import { decodeText } from './engine-io-handshake.ts';
import type { OffsetReader } from './offset.ts';
import { ackRequest, endsAsList, eventName, matches, mayBe, namespaceOf } from './packet-head.ts';
import type { EngineIoPacket } from './polling/payload.ts';
import { PreparedMessage } from './prepared-message.ts';
import { ProtocolError } from './protocol-error.ts';
import type { Shared } from './shared.ts';

export interface SocketIoShared extends Shared {
  readonly counted: CountedEvent;
  readonly inPlace: InPlaceReader;
  readonly codec: PacketCodec;
  readonly offsets: OffsetReader;
}

/** A packet whose attachments have not all arrived. */
interface UnfinishedPacket {
  decoder: PacketDecoder;
  bytes: number;
}

/** Of a refusal: it travels between processes, once for each connection. */
const MAX_MESSAGE_LENGTH = 1000;
const NO_NAMESPACES: readonly string[] = [];
const NO_MESSAGES: readonly EngineIoPacket[] = [];
const NO_ARGUMENTS: unknown[] = [];
const EVENT = 0x30 + PacketType.EVENT;
const ACK = 0x30 + PacketType.ACK;
/** Of an event. */
const ONE_ATTACHMENT = Buffer.from(`${PacketType.BINARY_EVENT}1-`);

export class SocketIoConnection extends EngineIoConnection<ClientOptions, SocketIoShared> implements Client {
  slot: number;
  interest: Set<string> | undefined = undefined;
  // Replaced, never pushed to, like the arrays below.
  sessions: readonly RecoverableSession[];
  readonly #sink: ClientSink;
  // Replaced by `concat`: pushing or spreading makes V8 allocate room for 16.
  #connected = NO_NAMESPACES;
  #pending = NO_NAMESPACES;
  #unfinished: UnfinishedPacket | undefined = undefined;
  #awaited: AwaitedPayload | undefined = undefined;

  constructor(
    slot: number,
    options: ClientOptions,
    sink: ClientSink,
    shared: SocketIoShared,
    sessions: readonly RecoverableSession[] = NO_SESSIONS,
  ) {
    super(options, shared);
    this.slot = slot;
    this.sessions = sessions;
    this.#sink = sink;
  }

  connect(namespace: string): void {
    if (this.state !== 'idle' && this.state !== 'connecting' && this.state !== 'open') return;
    if (this.#connected.includes(namespace) || this.#pending.includes(namespace)) return;
    this.#pending = this.#pending.concat(namespace);
    if (this.state === 'idle') this.dial();
    else if (this.sessionId !== '') this.#request(namespace);
    if (this.state === 'open') this.setDeadline(this.options.connectTimeoutMs);
  }

  /** Discards an event for a namespace that is not connected. */
  emit(namespace: string, event: string, args: unknown[], ackId?: number): void {
    if (this.state !== 'open' || !this.#connected.includes(namespace)) return;
    this.sendMessages(
      this.shared.codec.encode({ type: PacketType.EVENT, nsp: namespace, data: [event, ...args], id: ackId }),
    );
  }

  repeat(message: RepeatedMessage, ackId?: number): boolean {
    if (this.state !== 'open' || !this.#connected.includes(message.namespace)) return false;
    const prepared = preparedOf(this.shared.codec, message);
    // Compressed bytes differ from connection to connection.
    if (this.transport === 'polling' || this.deflate !== undefined) this.sendMessages(prepared.packets(ackId));
    else this.sendMessages(NO_MESSAGES, prepared.frames(ackId));
    return true;
  }

  protected override lastMessages(): EngineIoPacket[] {
    return this.#connected.flatMap((nsp) => this.shared.codec.encode({ type: PacketType.DISCONNECT, nsp }));
  }

  protected override onTransportChanged(tookUs: number): void {
    this.#sink.onUpgraded(this, tookUs);
  }

  protected override onTransportKept(cause: FailureCode, message: string): void {
    this.#sink.onUpgradeFailed(this, cause, message);
  }

  protected override onSession(): void {
    this.attempt?.reached('namespace');
    for (const namespace of this.#pending) this.#request(namespace);
  }

  protected override onFailed(cause: FailureCode, message: string, retryAfterMs?: number): void {
    this.#sink.onFailed(this, cause, message, retryAfterMs);
  }

  protected override onClosed(reason: string): void {
    this.#sink.onClosed(this, reason, undefined);
  }

  protected override onLeft(): void {
    this.#sink.onClosed(this, 'io client disconnect', undefined);
  }

  override onTraffic(receivedBytes: number, sentBytes: number): void {
    this.#sink.onTraffic(receivedBytes, sentBytes);
  }

  protected override onOverdue(): void {
    const overdue = this.#pending;
    this.#pending = NO_NAMESPACES;
    for (const namespace of overdue) this.#sink.onRefused(this, namespace, 'timeout_namespace', undefined);
  }

  protected override onMessage(bytes: Buffer, start: number, end: number): void {
    const isEvent = start < end && bytes[start] === EVENT && this.#unfinished === undefined;
    const { codec, counted, inPlace, receivedAtUs } = this.shared;
    if (this.#awaited !== undefined) throw socketIoError('text in place of an attachment');
    if (this.#isPlainAck(bytes, start, end)) return;
    if (!isEvent || !codec.hasPlainEvents) {
      if (!this.#awaits(bytes, start, end)) this.#decode(decodeText(bytes, start, end));
    } else if (inPlace.report(this.#sink, this, bytes, start + 1, end, receivedAtUs)) {
      const isWanted = this.interest?.has(counted.name) === true && this.isReading;
      if (isWanted) this.#decode(decodeText(bytes, start, end), true);
      else this.#leaveUndecoded(bytes, start + 1, end);
    } else if (mayBe(inPlace.head, bytes, start + 1, end)) this.#decodeCounted(decodeText(bytes, start, end));
    else if (this.#isWanted(bytes, start + 1, end)) this.#decode(decodeText(bytes, start, end));
    else this.#leaveUndecoded(bytes, start + 1, end);
  }

  /** An event that only needs its answer. */
  #leaveUndecoded(bytes: Buffer, start: number, end: number): void {
    const request = ackRequest(bytes, start, end);
    if (request !== undefined) this.#acknowledge(request);
    else if (this.sessions.length > 0) {
      const session = this.#sessionOf(this.sessions.length === 1 ? undefined : namespaceOf(bytes, start, end));
      if (session) session.offset = this.shared.offsets.read(bytes, start, end) ?? session.offset;
    }
  }

  /** @param namespace undefined where there is only one */
  #sessionOf(namespace: string | undefined): RecoverableSession | undefined {
    for (const one of this.sessions) if (namespace === undefined || one.namespace === namespace) return one;
    return undefined;
  }

  /** Reports the acknowledgement of a repeated message, of which only the id matters, without decoding it. */
  #isPlainAck(bytes: Buffer, start: number, end: number): boolean {
    if (bytes[start] !== ACK || start === end || this.#unfinished !== undefined) return false;
    if (!this.shared.codec.hasPlainEvents) return false;
    const answered = ackRequest(bytes, start + 1, end);
    if (answered === undefined || answered.id < FIRST_REPEATED_ACK_ID || !endsAsList(bytes, start + 1, end))
      return false;
    this.#sink.onAck(this, answered.namespace, answered.id, NO_ARGUMENTS);
    return true;
  }

  /** The counted event, of which nothing but the copy is wanted, with its payload in the next message. */
  #awaits(bytes: Buffer, start: number, end: number): boolean {
    const { codec, counted, inPlace } = this.shared;
    if (!matches(bytes, start, end, ONE_ATTACHMENT) || !codec.hasPlainEvents) return false;
    if (this.#unfinished !== undefined || this.sessions.length > 0 || this.interest?.has(counted.name)) return false;
    this.#awaited = inPlace.awaited(bytes, start + ONE_ATTACHMENT.length, end);
    return this.#awaited !== undefined;
  }

  protected override onBinaryMessage(bytes: Buffer, start: number, end: number): void {
    const awaited = this.#awaited;
    if (awaited !== undefined) {
      this.#awaited = undefined;
      awaited.report(this.#sink, this, bytes, start, end, this.shared.receivedAtUs);
      return;
    }
    this.#decode(Buffer.from(bytes.subarray(start, end)));
  }

  /** One that is not JSON ends the connection, as it does with socket.io-client. */
  #decodeCounted(text: string): void {
    try {
      this.#decode(text);
    } catch (error) {
      this.#sink.onUnreadable(this);
      throw error;
    }
  }

  /** Counts what nobody waits for, without decoding. */
  #isWanted(bytes: Uint8Array, start: number, end: number): boolean {
    if (this.interest !== undefined) {
      const name = eventName(bytes, start, end);
      // A name that cannot be read in place needs the decoder.
      if (name === undefined || this.interest.has(name)) return true;
    }
    this.#sink.onIgnored(this);
    return false;
  }

  /** @param isReported as the counted event, which is wanted as any other as well */
  #decode(message: string | Buffer, isReported = false): void {
    const decoder = this.#unfinished?.decoder ?? this.shared.codec.decoderFor(message);
    let packet: Packet | undefined;
    try {
      packet = decoder.add(message);
    } catch (error) {
      throw socketIoError(error instanceof Error ? error.message : String(error));
    }
    if (packet === undefined) this.#hold(decoder, message.length);
    else {
      this.#discardUnfinished();
      this.#onPacket(packet, isReported);
    }
  }

  /** The decoder keeps the message until the packet's attachments have arrived. */
  #hold(decoder: PacketDecoder, bytes: number): void {
    this.shared.buffers.hold(bytes);
    this.#unfinished ??= { decoder, bytes: 0 };
    this.#unfinished.bytes += bytes;
  }

  #discardUnfinished(): void {
    if (this.#unfinished === undefined) return;
    this.shared.buffers.release(this.#unfinished.bytes);
    this.#unfinished = undefined;
  }

  protected override discard(): void {
    super.discard();
    this.#awaited = undefined;
    this.#discardUnfinished();
  }

  #request(nsp: string): void {
    const { codec } = this.shared;
    const { auth } = this.options;
    const session = this.#sessionOf(nsp);
    if (session) {
      const { pid, offset } = session;
      this.sendMessages(codec.encode({ type: PacketType.CONNECT, nsp, data: { pid, offset, ...auth } }));
      return;
    }
    const { messages, frames } = encodeRequest(codec, nsp, auth);
    this.sendMessages(messages, frames);
  }

  #onPacket({ type, nsp, data, id }: Packet, isReported: boolean): void {
    if (nestsDeeper(data)) throw socketIoError('data that is nested too deeply');
    if (type === PacketType.EVENT || type === PacketType.ACK) {
      if (!Array.isArray(data)) throw socketIoError('a packet without arguments');
      if (type === PacketType.EVENT) {
        this.#onEvent(nsp, String(data[0]), data.slice(1), isReported);
        if (id !== undefined) this.#acknowledge({ namespace: nsp, id });
        else if (this.sessions.length > 0) this.#keepOffset(nsp, data.at(-1));
      } else if (id !== undefined) this.#sink.onAck(this, nsp, id, data);
    } else if (type === PacketType.CONNECT) this.#onConnected(nsp, data);
    else if (type === PacketType.CONNECT_ERROR) this.#onRefused(nsp, data);
    else if (this.#connected.includes(nsp)) this.#onDisconnected(nsp);
  }

  /** As in socket.io-client, the last argument of any event is its offset, if it is a string. */
  #keepOffset(namespace: string, last: unknown): void {
    const session = this.#sessionOf(namespace);
    if (session && typeof last === 'string') session.offset = last;
  }

  #onEvent(namespace: string, event: string, args: unknown[], isReported: boolean): void {
    const isWanted = this.interest?.has(event) === true;
    const { counted, receivedAtUs } = this.shared;
    if (event === counted.name) {
      if (!isReported) counted.report(this.#sink, this, args, receivedAtUs);
    } else if (!isWanted) this.#sink.onIgnored(this);
    if (isWanted && this.isReading) this.#sink.onEvent(this, namespace, event, args);
  }

  /** @param request undefined if the server asked for nothing */
  #acknowledge(request: { namespace: string; id: number } | undefined): void {
    const { acknowledge } = this.options;
    if (request === undefined || acknowledge === undefined || this.state !== 'open') return;
    const { namespace: nsp, id } = request;
    if (this.#connected.includes(nsp)) {
      this.answerWith(this.shared.codec.encode({ type: PacketType.ACK, nsp, id, data: acknowledge }));
    }
  }

  #onConnected(namespace: string, data: { sid?: unknown; pid?: unknown } | undefined): void {
    if (!this.#pending.includes(namespace)) return;
    if (typeof data?.sid !== 'string') throw socketIoError(SOCKET_IO_2);
    this.#settle(namespace);
    this.#connected = this.#connected.concat(namespace);
    const timings = this.attempt && timingsOf(this.attempt);
    this.opened();
    const isRecovered = this.#keepSession(namespace, data.pid);
    this.#sink.onOpen(this, namespace, this.sessionId, timings, isRecovered);
  }

  /** @returns whether it is the session that was asked for */
  #keepSession(namespace: string, pid: unknown): boolean {
    if (this.options.keepsSessions !== true) return false;
    const session = this.#sessionOf(namespace);
    if (typeof pid !== 'string') {
      if (session) this.sessions = this.sessions.filter((one) => one !== session);
    } else if (session) {
      if (session.pid === pid) return true;
      // The offset stays, as in socket.io-client.
      session.pid = pid;
    } else this.sessions = this.sessions.concat({ namespace, pid, offset: undefined });
    return false;
  }

  /** A connection that has no namespace left is closed. */
  #onRefused(namespace: string, data: { message?: unknown; data?: unknown } | string | undefined): void {
    if (!this.#pending.includes(namespace)) return;
    const error = typeof data === 'object' ? data : { message: data };
    // Before anything changes: not everything has a text.
    const message = String(error.message).slice(0, MAX_MESSAGE_LENGTH);
    this.#settle(namespace);
    const isLast = this.#connected.length + this.#pending.length === 0;
    const wasOpen = this.state === 'open';
    if (isLast) this.depart();
    this.#sink.onRefused(this, namespace, message, error.data);
    if (isLast && wasOpen) this.#sink.onClosed(this, 'io server disconnect', undefined);
  }

  #onDisconnected(namespace: string): void {
    this.#connected = this.#connected.filter((other) => other !== namespace);
    if (this.#connected.length + this.#pending.length === 0) this.leave('io server disconnect');
    else this.#sink.onClosed(this, 'io server disconnect', namespace);
  }

  /** The server has answered. */
  #settle(namespace: string): void {
    this.#pending = this.#pending.length === 1 ? NO_NAMESPACES : this.#pending.filter((other) => other !== namespace);
    if (this.#pending.length === 0) this.deadlineMs = 0;
  }
}

/** Of each message one for the process, whose connections all have the same parser. */
const prepared = new WeakMap<RepeatedMessage, PreparedMessage>();

function preparedOf(codec: PacketCodec, message: RepeatedMessage): PreparedMessage {
  let found = prepared.get(message);
  if (found === undefined) {
    found = new PreparedMessage(codec, message);
    prepared.set(message, found);
  }
  return found;
}

/** The last request for a namespace: the next one is nearly always the same. */
let lastRequest: Request | undefined;

interface Request {
  codec: PacketCodec;
  nsp: string;
  auth: unknown;
  messages: EngineIoPacket[];
  /** The same, as WebSocket sends them. */
  frames: Buffer;
}

function encodeRequest(codec: PacketCodec, nsp: string, auth: Record<string, unknown> | undefined): Request {
  if (lastRequest?.codec !== codec || lastRequest.nsp !== nsp || lastRequest.auth !== auth) {
    const messages = codec.encode({ type: PacketType.CONNECT, nsp, data: auth });
    lastRequest = { codec, nsp, auth, messages, frames: encodeMessages(messages) };
  }
  return lastRequest;
}

function timingsOf(attempt: Attempt): ConnectTimings {
  const { tcp, tls, upgrade, open } = attempt.endsUs;
  const ends = { tcpUs: tcp, tlsUs: tls, upgradeUs: upgrade, openUs: open, namespaceUs: attempt.elapsedUs() };
  return { ...ends, tlsResumed: attempt.tlsResumed };
}

function socketIoError(message: string): ProtocolError {
  return new ProtocolError('not_socketio', 'parse error', message);
}
