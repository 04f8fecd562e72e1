/** The highest layer of a light connection: Socket.IO 5 over Engine.IO, with namespaces, events and acknowledgements. */

import { EVENTS } from '../../../protocol/events.ts';
import type { FailureCode } from '../../../protocol/failure-codes.ts';
import type { Client, ClientOptions, ClientSink, ConnectTimings } from '../client.ts';
import { reportBroadcast } from '../decoded-broadcast.ts';
import { nestsDeeper } from '../nesting.ts';
import type { Attempt } from './attempt.ts';
import { type BroadcastReader, eventName, mayBeBroadcast } from './broadcast.ts';
import { type Packet, type PacketCodec, type PacketDecoder, PacketType } from './codec.ts';
import { decodeText, EngineIoConnection, encodeMessages } from './engine-io.ts';
import { ProtocolError } from './protocol-error.ts';
import type { Shared } from './shared.ts';

export interface SocketIoShared extends Shared {
  readonly broadcasts: BroadcastReader;
  readonly codec: PacketCodec;
}

/** Of a refusal: it travels between processes, once for each connection. */
const MAX_MESSAGE_LENGTH = 1000;
const NO_NAMESPACES: readonly string[] = [];
const EVENT = 0x30 + PacketType.EVENT;

export class SocketIoConnection extends EngineIoConnection<ClientOptions, SocketIoShared> implements Client {
  readonly slot: number;
  interest: Set<string> | undefined = undefined;
  readonly #sink: ClientSink;
  // Replaced, never pushed to: V8 allocates room for 16 when an array grows.
  #connected = NO_NAMESPACES;
  #pending = NO_NAMESPACES;
  /** Holds a packet whose attachments have not all arrived. */
  #unfinished: PacketDecoder | undefined = undefined;

  constructor(slot: number, options: ClientOptions, sink: ClientSink, shared: SocketIoShared) {
    super(options, shared);
    this.slot = slot;
    this.#sink = sink;
  }

  connect(namespace: string): void {
    if (this.state !== 'idle' && this.state !== 'connecting' && this.state !== 'open') return;
    if (this.#connected.includes(namespace) || this.#pending.includes(namespace)) return;
    this.#pending = [...this.#pending, namespace];
    if (this.state === 'idle') this.dial();
    else if (this.sessionId !== '') this.#request(namespace);
    if (this.state === 'open') this.setDeadline(this.options.connectTimeoutMs);
  }

  /** Discards an event for a namespace that is not connected. */
  emit(namespace: string, event: string, args: unknown[], ackId?: number): void {
    if (this.state !== 'open' || !this.#connected.includes(namespace)) return;
    this.write(this.#encode({ type: PacketType.EVENT, nsp: namespace, data: [event, ...args], id: ackId }));
  }

  protected override lastFrames(): Uint8Array[] {
    return this.#connected.map((nsp) => this.#encode({ type: PacketType.DISCONNECT, nsp }));
  }

  protected override onSession(): void {
    this.attempt?.reached('namespace');
    for (const namespace of this.#pending) this.#request(namespace);
  }

  protected override onFailed(cause: FailureCode, message: string): void {
    this.#sink.onFailed(this, cause, message);
  }

  protected override onClosed(reason: string): void {
    this.#sink.onClosed(this, reason, undefined);
  }

  protected override onLeft(): void {
    this.#sink.onClosed(this, 'io client disconnect', undefined);
  }

  protected override onTraffic(receivedBytes: number, sentBytes: number): void {
    this.#sink.onTraffic(receivedBytes, sentBytes);
  }

  protected override onOverdue(): void {
    const overdue = this.#pending;
    this.#pending = NO_NAMESPACES;
    for (const namespace of overdue) this.#sink.onRefused(this, namespace, 'timeout_namespace', undefined);
  }

  protected override onMessage(bytes: Buffer, start: number, end: number): void {
    const isEvent = start < end && bytes[start] === EVENT && this.#unfinished === undefined;
    if (!isEvent || !this.shared.codec.hasPlainEvents) this.#decode(decodeText(bytes, start, end));
    else if (this.#isBroadcast(bytes, start + 1, end)) {
      const isWanted = this.interest?.has(EVENTS.broadcast) === true && this.isReading;
      if (isWanted) this.#decode(decodeText(bytes, start, end), true);
    } else if (mayBeBroadcast(bytes, start + 1, end)) this.#decodeBroadcast(decodeText(bytes, start, end));
    else if (this.#isWanted(bytes, start + 1, end)) this.#decode(decodeText(bytes, start, end));
  }

  protected override onBinaryMessage(bytes: Buffer, start: number, end: number): void {
    this.#decode(Buffer.from(bytes.subarray(start, end)));
  }

  /** Reports a broadcast without decoding. */
  #isBroadcast(bytes: Buffer, start: number, end: number): boolean {
    const { broadcasts, receivedAtUs } = this.shared;
    if (!broadcasts.read(bytes, start, end)) return false;
    this.#sink.onBroadcast(this, broadcasts.seq, broadcasts.sentAtUs, broadcasts.worker, receivedAtUs, broadcasts);
    return true;
  }

  /** One that is not JSON ends the connection, as it does with socket.io-client. */
  #decodeBroadcast(text: string): void {
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

  /** @param isReported as a broadcast, which is wanted as an event as well */
  #decode(message: string | Buffer, isReported = false): void {
    const decoder = this.#unfinished ?? this.shared.codec.decoderFor(message);
    let packet: Packet | undefined;
    try {
      packet = decoder.add(message);
    } catch (error) {
      throw socketIoError(error instanceof Error ? error.message : String(error));
    }
    this.#unfinished = packet === undefined ? decoder : undefined;
    if (packet !== undefined) this.#onPacket(packet, isReported);
  }

  #encode(packet: Packet): Buffer {
    return encodeMessages(this.shared.codec.encode(packet));
  }

  #request(nsp: string): void {
    this.write(encodeRequest(this.shared.codec, nsp, this.options.auth));
  }

  #onPacket({ type, nsp, data, id }: Packet, isReported: boolean): void {
    if (nestsDeeper(data)) throw socketIoError('data that is nested too deeply');
    if (type === PacketType.EVENT || type === PacketType.ACK) {
      if (!Array.isArray(data)) throw socketIoError('a packet without arguments');
      if (type === PacketType.EVENT) this.#onEvent(nsp, String(data[0]), data.slice(1), isReported);
      else if (id !== undefined) this.#sink.onAck(this, nsp, id, data);
    } else if (type === PacketType.CONNECT) this.#onConnected(nsp, data);
    else if (type === PacketType.CONNECT_ERROR) this.#onRefused(nsp, data);
    else if (this.#connected.includes(nsp)) this.#onDisconnected(nsp);
  }

  #onEvent(namespace: string, event: string, args: unknown[], isReported: boolean): void {
    const isWanted = this.interest?.has(event) === true;
    if (event === EVENTS.broadcast) {
      if (!isReported) reportBroadcast(this.#sink, this, args[0], this.shared.receivedAtUs);
    } else if (!isWanted) this.#sink.onIgnored(this);
    if (isWanted && this.isReading) this.#sink.onEvent(this, namespace, event, args);
  }

  #onConnected(namespace: string, data: { sid?: unknown } | undefined): void {
    if (!this.#pending.includes(namespace)) return;
    if (typeof data?.sid !== 'string') throw socketIoError('the server speaks Socket.IO 2, this client 3 and 4');
    this.#settle(namespace);
    this.#connected = [...this.#connected, namespace];
    const timings = this.attempt && timingsOf(this.attempt);
    this.opened();
    this.#sink.onOpen(this, namespace, this.sessionId, timings);
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

/** The last request for a namespace: the next one is nearly always the same. */
let lastRequest: { codec: PacketCodec; nsp: string; auth: unknown; frames: Buffer } | undefined;

function encodeRequest(codec: PacketCodec, nsp: string, auth: Record<string, unknown> | undefined): Buffer {
  if (lastRequest?.codec !== codec || lastRequest.nsp !== nsp || lastRequest.auth !== auth) {
    const frames = encodeMessages(codec.encode({ type: PacketType.CONNECT, nsp, data: auth }));
    lastRequest = { codec, nsp, auth, frames };
  }
  return lastRequest.frames;
}

function timingsOf(attempt: Attempt): ConnectTimings {
  const { tcp, upgrade, open } = attempt.endsUs;
  return { tcpUs: tcp, upgradeUs: upgrade, openUs: open, namespaceUs: attempt.elapsedUs() };
}

function socketIoError(message: string): ProtocolError {
  return new ProtocolError('not_socketio', 'parse error', message);
}
