/**
 * Reads the Socket.IO packets that a light connection receives. Events that are only counted are read in place; all
 * other packets are decoded. This code runs for every copy of a broadcast.
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
import { ackRequest, eventName, jsonStart, matchesBytes, namespaceOfPacket, recoveryOffsetIn } from './packet-head.ts';

export interface SocketIoShared extends ConnectionPool {
  /** The event that the ledger counts; undefined without a ledger. */
  readonly counted: EventPlan | undefined;
  readonly inPlace: EventReader | undefined;
  readonly checks: { readonly events: PayloadCheck<KnownEvent>; readonly acknowledgements: PayloadCheck<unknown[]> };
  readonly codec: PacketCodec;
  readonly events: SeenEvents;
}

/** A packet whose attachments have not all arrived. */
interface UnfinishedPacket {
  decoder: PacketDecoder;
  bytes: number;
}

const NO_ARGUMENTS: unknown[] = [];
const EVENT = 0x30 + PacketType.EVENT;
const ACK = 0x30 + PacketType.ACK;
/** First bytes of an event with one attachment. */
const ONE_ATTACHMENT = Buffer.from(`${PacketType.BINARY_EVENT}1-`);

export abstract class SocketIoReader extends EngineIoConnection<SocketIoShared> implements Client {
  interest: Set<string> | undefined = undefined;
  // Sessions that the server can restore. The array is always replaced, never extended, to save memory.
  sessions: readonly RecoverableSession[];
  protected readonly sink: ClientSink;
  #unfinished: UnfinishedPacket | undefined = undefined;
  /** Counted event whose payload arrives in the next message. */
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

  /**
   * Called with a decoded packet.
   * @param isReported whether the packet was already reported as a copy of the counted event
   */
  protected abstract onDecoded(packet: Packet, isReported: boolean): void;
  /**
   * Sends an acknowledgement to the server.
   * @param request acknowledgement that the server requested; undefined if it requested none
   */
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
    const json = jsonStart(bytes, start + 1, end);
    const event = this.shared.checks.events.check(bytes, json, end);
    if (event === 'invalid') this.#decodeInvalid(bytes, start, json, end);
    else if (event === 'unread') this.#onUnread(bytes, start, json, end);
    else {
      if (event.isCounted) event.report(this.sink, namespaceOfPacket(bytes, start + 1, end), this.shared.receivedAtUs);
      this.traffic.receives(event.seen);
      event.remember(bytes, json, end);
      const isWanted = this.interest?.has(event.name) === true && this.isReading;
      if (isWanted) this.#decode(decodeText(bytes, start, end), true);
      else this.#handleUndecoded(bytes, start + 1, json, end, event);
    }
  }

  /**
   * Decodes an event that is probably invalid. If the parser rejects it too, the error closes the connection, as in
   * socket.io-client.
   */
  #decodeInvalid(bytes: Buffer, start: number, json: number, end: number): void {
    try {
      this.#decode(decodeText(bytes, start, end));
    } catch (error) {
      if (this.shared.inPlace?.mayCount(bytes, json, end)) this.sink.onUnreadable();
      throw error;
    }
  }

  /**
   * Reads an event without decoding it. Used for events whose bytes all differ, at a rate that is too high for
   * decoding.
   */
  #onUnread(bytes: Buffer, start: number, json: number, end: number): void {
    const { events, inPlace, receivedAtUs } = this.shared;
    const isReported = inPlace?.report(this.sink, bytes, start + 1, json, end, receivedAtUs) === true;
    this.traffic.receives(events.inPlace(bytes, json, end));
    if (!this.isReading) return;
    const mustDecode = !isReported && inPlace?.mayCount(bytes, json, end);
    if (mustDecode || this.#isWanted(bytes, start + 1, end)) this.#decode(decodeText(bytes, start, end), isReported);
    else this.#handleUndecoded(bytes, start + 1, json, end);
  }

  /** Handles an event that does not need to be decoded: sends its acknowledgement, or keeps its offset. */
  #handleUndecoded(bytes: Buffer, start: number, json: number, end: number, event?: KnownEvent): void {
    const request = json === start ? undefined : ackRequest(bytes, start, end);
    if (request !== undefined) this.acknowledge(request);
    else if (this.sessions.length > 0) {
      const session = this.sessionOf(this.sessions.length === 1 ? undefined : namespaceOfPacket(bytes, start, end));
      if (session) session.offset = (event ? event.offset : recoveryOffsetIn(bytes, json, end)) ?? session.offset;
    }
  }

  /**
   * Returns the restorable session of a namespace.
   * @param namespace undefined if there is only one session
   */
  protected sessionOf(namespace: string | undefined): RecoverableSession | undefined {
    for (const session of this.sessions) if (namespace === undefined || session.namespace === namespace) return session;
    return undefined;
  }

  /**
   * Reports the acknowledgement of a repeated message from its id, without decoding it.
   * @returns false for all other packets, and for acknowledgements that may carry an error
   */
  #isPlainAck(bytes: Buffer, start: number, end: number): boolean {
    if (bytes[start] !== ACK || start === end || this.#unfinished !== undefined) return false;
    if (!this.shared.codec.hasPlainEvents) return false;
    const answered = ackRequest(bytes, start + 1, end);
    if (answered === undefined || answered.id < FIRST_REPEATED_ACK_ID) return false;
    const json = jsonStart(bytes, start + 1, end);
    if (json >= end || this.shared.checks.acknowledgements.check(bytes, json, end) === 'invalid') return false;
    if (mayCarryError(bytes, json, end)) return false;
    this.sink.onAck(answered.namespace, answered.id, NO_ARGUMENTS);
    return true;
  }

  /**
   * Handles an event whose payload is the next message, if it only has to be counted.
   * @returns false if the event must be decoded
   */
  #awaitsAttachment(bytes: Buffer, start: number, end: number): boolean {
    const { codec, counted, checks } = this.shared;
    if (counted === undefined || !matchesBytes(bytes, start, end, ONE_ATTACHMENT) || !codec.hasPlainEvents)
      return false;
    if (this.#unfinished !== undefined || this.sessions.length > 0 || this.interest?.has(counted.event)) return false;
    const head = start + ONE_ATTACHMENT.length;
    // An event that requests an acknowledgement is decoded, because only the decoder detects the end of the packet.
    if (ackRequest(bytes, head, end) !== undefined) return false;
    const event = checks.events.check(bytes, jsonStart(bytes, head, end), end);
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

  /** Returns whether a step waits for the event. Also true if the name must be decoded to be compared. */
  #isWanted(bytes: Uint8Array, start: number, end: number): boolean {
    if (this.interest === undefined) return false;
    const name = eventName(bytes, start, end);
    return name === undefined || this.interest.has(name);
  }

  /**
   * Decodes a message.
   * @param isReported whether the message was already reported as a copy of the counted event
   */
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

  /** Counts a received event after it has been decoded, because it could not be read in place. */
  #receivesDecoded({ data }: Packet): void {
    const name: unknown = Array.isArray(data) ? data[0] : undefined;
    this.traffic.receives(this.shared.events.named(typeof name === 'string' ? name : undefined));
  }

  /** Counts the bytes of a message that the decoder keeps until all attachments have arrived. */
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
