/**
 * Reads Socket.IO packets of a light connection: events that are only counted are read in place, all others are decoded for the layer
 * above. Runs for every copy of a broadcast.
 */

import { mayCarryError } from '../../client/ack-errors.ts';
import {
  type Client,
  type ClientOptions,
  type ClientSink,
  FIRST_REPEATED_ACK_ID,
  NO_SESSIONS,
  type RecoverableSession,
  type RepeatedMessage,
} from '../../client/client.ts';
import type { EventPlan } from '../../client/counted-event.ts';
import type { SeenEvents } from '../../client/seen-events.ts';
import { EngineIoConnection } from '../engine-io/engine-io.ts';
import { decodeText } from '../engine-io/engine-io-handshake.ts';
import type { EventReader } from '../in-place/event-reader.ts';
import type { KnownEvent } from '../in-place/known-event.ts';
import type { PayloadCheck } from '../in-place/payload-check.ts';
import type { ConnectionPool } from '../pool.ts';
import { socketIoError } from '../protocol-error.ts';
import { type Packet, type PacketCodec, type PacketDecoder, PacketType } from './codec.ts';
import { ackRequest, eventName, matches, namespaceOf, offsetIn, skipHead } from './packet-head.ts';

export interface SocketIoShared extends ConnectionPool {
  /** The event that the ledger counts, and its reader; undefined if there is no ledger. */
  readonly counted: EventPlan | undefined;
  readonly inPlace: EventReader | undefined;
  readonly checks: { readonly events: PayloadCheck<KnownEvent>; readonly acknowledgements: PayloadCheck<unknown[]> };
  readonly codec: PacketCodec;
  readonly events: SeenEvents;
}

/** A packet that waits for attachments. */
interface UnfinishedPacket {
  decoder: PacketDecoder;
  bytes: number;
}

const NO_ARGUMENTS: unknown[] = [];
const EVENT = 0x30 + PacketType.EVENT;
const ACK = 0x30 + PacketType.ACK;
/** Start of an event with one attachment. */
const ONE_ATTACHMENT = Buffer.from(`${PacketType.BINARY_EVENT}1-`);

export abstract class SocketIoReader extends EngineIoConnection<SocketIoShared> implements Client {
  interest: Set<string> | undefined = undefined;
  // Replaced instead of pushed to, as explained in the layer above.
  sessions: readonly RecoverableSession[];
  protected readonly sink: ClientSink;
  #unfinished: UnfinishedPacket | undefined = undefined;
  /** A counted event whose payload is in the next message. */
  #awaited: KnownEvent | undefined = undefined;

  constructor(
    options: ClientOptions,
    sink: ClientSink,
    shared: SocketIoShared,
    sessions: readonly RecoverableSession[] = NO_SESSIONS,
  ) {
    super(options, shared);
    this.sessions = sessions;
    this.sink = sink;
  }

  abstract readonly namespaces: readonly string[];
  abstract connect(namespace: string): void;
  abstract emit(namespace: string, event: string, args: unknown[], ackId?: number): void;
  abstract repeat(message: RepeatedMessage, ackId?: number): boolean;

  /** Called with a decoded packet. @param isReported whether it was already reported as the counted event */
  protected abstract onDecoded(packet: Packet, isReported: boolean): void;
  /** Sends an acknowledgement. @param request undefined if the server requested none */
  protected abstract acknowledge(request: { namespace: string; id: number } | undefined): void;

  protected override onMessage(bytes: Buffer, start: number, end: number): void {
    const { hasPlainEvents } = this.shared.codec;
    if (this.#awaited !== undefined) throw socketIoError('text in place of an attachment');
    if (start >= end && hasPlainEvents) throw socketIoError('an empty message');
    if (hasPlainEvents && bytes[start] === EVENT && this.#unfinished === undefined)
      this.#onPlainEvent(bytes, start, end);
    else if (!this.#isPlainAck(bytes, start, end) && !this.#awaitsAttachment(bytes, start, end)) {
      this.#decode(decodeText(bytes, start, end));
    }
  }

  #onPlainEvent(bytes: Buffer, start: number, end: number): void {
    const json = skipHead(bytes, start + 1, end);
    const event = this.shared.checks.events.check(bytes, json, end);
    if (event === 'invalid') this.#decodeInvalid(bytes, start, json, end);
    else if (event === 'unread') this.#onUnread(bytes, start, json, end);
    else {
      if (event.isCounted) event.report(this.sink, namespaceOf(bytes, start + 1, end), this.shared.receivedAtUs);
      this.traffic.receives(event.seen);
      event.remember(bytes, json, end);
      const isWanted = this.interest?.has(event.name) === true && this.isReading;
      if (isWanted) this.#decode(decodeText(bytes, start, end), true);
      else this.#handleUndecoded(bytes, start + 1, json, end, event);
    }
  }

  /** Decodes an event that failed the check; if socket.io-client could not parse it either, the error closes the connection. */
  #decodeInvalid(bytes: Buffer, start: number, json: number, end: number): void {
    try {
      this.#decode(decodeText(bytes, start, end));
    } catch (error) {
      if (this.shared.inPlace?.mayCount(bytes, json, end)) this.sink.onUnreadable();
      throw error;
    }
  }

  /** Reads an event that differs from those before, at a rate at which decoding takes too long. */
  #onUnread(bytes: Buffer, start: number, json: number, end: number): void {
    const { events, inPlace, receivedAtUs } = this.shared;
    const isReported = inPlace?.report(this.sink, bytes, start + 1, json, end, receivedAtUs) === true;
    this.traffic.receives(events.inPlace(bytes, json, end));
    if (!this.isReading) return;
    const mustDecode = !isReported && inPlace?.mayCount(bytes, json, end);
    if (mustDecode || this.#isWanted(bytes, start + 1, end)) this.#decode(decodeText(bytes, start, end), isReported);
    else this.#handleUndecoded(bytes, start + 1, json, end);
  }

  /** Handles an event that is not decoded: acknowledges it, or keeps its offset. */
  #handleUndecoded(bytes: Buffer, start: number, json: number, end: number, event?: KnownEvent): void {
    const request = json === start ? undefined : ackRequest(bytes, start, end);
    if (request !== undefined) this.acknowledge(request);
    else if (this.sessions.length > 0) {
      const session = this.sessionOf(this.sessions.length === 1 ? undefined : namespaceOf(bytes, start, end));
      if (session) session.offset = (event ? event.offset : offsetIn(bytes, json, end)) ?? session.offset;
    }
  }

  /** Returns the session of a namespace. @param namespace undefined if there is only one */
  protected sessionOf(namespace: string | undefined): RecoverableSession | undefined {
    for (const session of this.sessions) if (namespace === undefined || session.namespace === namespace) return session;
    return undefined;
  }

  /**
   * Reports the acknowledgement of a repeated message without decoding it, because only its id matters. Leaves one that may
   * carry an error to the decoder.
   */
  #isPlainAck(bytes: Buffer, start: number, end: number): boolean {
    if (bytes[start] !== ACK || start === end || this.#unfinished !== undefined) return false;
    if (!this.shared.codec.hasPlainEvents) return false;
    const answered = ackRequest(bytes, start + 1, end);
    if (answered === undefined || answered.id < FIRST_REPEATED_ACK_ID) return false;
    const json = skipHead(bytes, start + 1, end);
    if (json >= end || this.shared.checks.acknowledgements.check(bytes, json, end) === 'invalid') return false;
    if (mayCarryError(bytes, json, end)) return false;
    this.sink.onAck(answered.namespace, answered.id, NO_ARGUMENTS);
    return true;
  }

  /** Handles a counted event whose payload is in the next message, if only its copy is needed. */
  #awaitsAttachment(bytes: Buffer, start: number, end: number): boolean {
    const { codec, counted, checks } = this.shared;
    if (counted === undefined || !matches(bytes, start, end, ONE_ATTACHMENT) || !codec.hasPlainEvents) return false;
    if (this.#unfinished !== undefined || this.sessions.length > 0 || this.interest?.has(counted.event)) return false;
    const head = start + ONE_ATTACHMENT.length;
    // A packet with an acknowledgement id is left to the decoder, which knows when the packet is complete.
    if (ackRequest(bytes, head, end) !== undefined) return false;
    const event = checks.events.check(bytes, skipHead(bytes, head, end), end);
    this.#awaited = typeof event !== 'string' && event.isAttached ? event : undefined;
    return this.#awaited !== undefined;
  }

  protected override onBinaryMessage(bytes: Buffer, start: number, end: number): void {
    const awaited = this.#awaited;
    if (awaited !== undefined) {
      this.#awaited = undefined;
      this.traffic.receives(awaited.seen);
      awaited.report(this.sink, '/', this.shared.receivedAtUs, bytes.subarray(start, end));
      return;
    }
    this.#decode(Buffer.from(bytes.subarray(start, end)));
  }

  /** Returns whether a step waits for the event, without decoding it if possible. */
  #isWanted(bytes: Uint8Array, start: number, end: number): boolean {
    if (this.interest === undefined) return false;
    const name = eventName(bytes, start, end);
    // A name that cannot be read in place must be decoded.
    return name === undefined || this.interest.has(name);
  }

  /** @param isReported whether the event was already reported as the counted one */
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
      const isText = typeof message === 'string' && this.shared.codec.hasPlainEvents;
      if (!isText && packet.type === PacketType.EVENT) this.#receivesDecoded(packet);
      this.#discardUnfinished();
      this.onDecoded(packet, isReported);
    }
  }

  /** Counts an event that was decoded instead of read in place. */
  #receivesDecoded({ data }: Packet): void {
    const name: unknown = Array.isArray(data) ? data[0] : undefined;
    this.traffic.receives(this.shared.events.named(typeof name === 'string' ? name : undefined));
  }

  /** Counts a message that the decoder keeps until the packet's attachments have arrived. */
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
}
