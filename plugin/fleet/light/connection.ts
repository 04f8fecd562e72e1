/** The upper half of a light connection: Socket.IO's namespaces, events and acknowledgements. */
import { EVENTS } from '../../../protocol/events.ts';
import { eventName } from './broadcast.ts';
import { CLOSE_TIMEOUT_MS, decodeText, EngineConnection } from './engine.ts';
import { encodeClose } from './frames.ts';
import { encodeConnect, encodePacket, type Packet, PacketDecoder, PacketType } from './packets.ts';
import { socketIoError } from './protocol-error.ts';

const NO_NAMESPACES: readonly string[] = [];
const EVENT = 0x30 + PacketType.EVENT;
const BINARY_EVENT = 0x30 + PacketType.BINARY_EVENT;
const BINARY_ACK = 0x30 + PacketType.BINARY_ACK;
/** Text packets are whole, so one decoder does for all connections. */
const textDecoder = new PacketDecoder();

export class LightConnection extends EngineConnection {
  // Replaced, never pushed to: an array that grows sets 16 places aside.
  #connected = NO_NAMESPACES;
  #pending = NO_NAMESPACES;
  /** A binary packet whose attachments have not all arrived. */
  #binary: PacketDecoder | undefined = undefined;

  connect(namespace: string): void {
    if (this.state !== 'idle' && this.state !== 'connecting' && this.state !== 'open') return;
    if (this.#connected.includes(namespace) || this.#pending.includes(namespace)) return;
    this.#pending = [...this.#pending, namespace];
    if (this.state === 'idle') this.dial();
    else if (this.sessionId !== '') this.#ask(namespace);
    if (this.state === 'open') this.setDeadline(this.options.connectTimeoutMs);
  }

  /** An event for a namespace that is not connected goes nowhere. */
  emit(namespace: string, event: string, args: unknown[], ackId?: number): void {
    if (this.state !== 'open' || !this.#connected.includes(namespace)) return;
    this.write(encodePacket({ type: PacketType.EVENT, nsp: namespace, data: [event, ...args], id: ackId }));
  }

  /** Before the first namespace is connected this is a failed attempt, `closed`. */
  close(): void {
    if (this.state === 'connecting') {
      process.nextTick(() => this.fail('closed', 'closed by the client before it was open'));
    } else if (this.state === 'open') {
      const goodbyes = this.#connected.map((nsp) => encodePacket({ type: PacketType.DISCONNECT, nsp }));
      this.state = 'closing';
      this.pingDeadlineMs = 0;
      this.write(Buffer.concat([...goodbyes, encodeClose()]));
      this.setDeadline(CLOSE_TIMEOUT_MS);
    }
  }

  protected onSession(): void {
    for (const namespace of this.#pending) this.#ask(namespace);
  }

  protected onOverdue(): void {
    const overdue = this.#pending;
    this.#pending = NO_NAMESPACES;
    for (const namespace of overdue) this.sink.onRefused(this, namespace, 'timeout_namespace', undefined);
  }

  #ask(nsp: string): void {
    this.write(encodeConnect(nsp, this.options.auth));
  }

  protected onMessage(bytes: Buffer, start: number, end: number): void {
    const type = start < end ? bytes[start] : undefined;
    if (this.#binary !== undefined) throw socketIoError('a text packet where an attachment was due');
    if (type === EVENT && !this.#isWanted(bytes, start + 1, end)) return;
    const decoder = type === BINARY_EVENT || type === BINARY_ACK ? new PacketDecoder() : textDecoder;
    const packet = decoder.add(decodeText(bytes, start, end));
    if (packet === undefined) this.#binary = decoder;
    else this.#onPacket(packet);
  }

  /** Reports broadcasts, and counts what nobody waits for, without decoding. */
  #isWanted(bytes: Uint8Array, start: number, end: number): boolean {
    const { broadcasts, receivedAtUs } = this.shared;
    if (broadcasts.read(bytes, start, end)) {
      this.sink.onBroadcast(this, broadcasts.seq, broadcasts.sentAtUs, broadcasts.worker, receivedAtUs);
      return this.interest?.has(EVENTS.broadcast) === true && this.isReading;
    }
    if (this.interest !== undefined) {
      const name = eventName(bytes, start, end);
      // A name that cannot be read in place is left to the decoder.
      if (name === undefined || this.interest.has(name)) return true;
    }
    this.sink.onIgnored(this);
    return false;
  }

  protected onBinary(bytes: Buffer, start: number, end: number): void {
    if (this.#binary === undefined) throw socketIoError('an attachment without a packet');
    const packet = this.#binary.add(Buffer.from(bytes.subarray(start, end)));
    if (packet === undefined) return;
    this.#binary = undefined;
    this.#onPacket(packet);
  }

  #onPacket({ type, nsp, data, id }: Packet): void {
    if (type === PacketType.EVENT || type === PacketType.ACK) {
      if (!Array.isArray(data)) throw socketIoError('a packet without arguments');
      if (type === PacketType.EVENT) this.#onEvent(nsp, String(data[0]), data.slice(1));
      else if (id !== undefined) this.sink.onAck(this, nsp, id, data);
    } else if (type === PacketType.CONNECT) this.#onConnected(nsp, data);
    else if (type === PacketType.CONNECT_ERROR) this.#onRefused(nsp, data);
    else if (this.#connected.includes(nsp)) this.#onDisconnected(nsp);
  }

  #onEvent(namespace: string, event: string, args: unknown[]): void {
    if (this.interest?.has(event)) this.sink.onEvent(this, namespace, event, args);
    else this.sink.onIgnored(this);
  }

  #onConnected(namespace: string, data: { sid?: unknown } | undefined): void {
    if (!this.#pending.includes(namespace)) return;
    if (typeof data?.sid !== 'string') throw socketIoError('the server speaks Socket.IO 2, this client 3 and 4');
    this.#settle(namespace);
    this.#connected = [...this.#connected, namespace];
    const timings = this.attempt?.timings();
    this.attempt = undefined;
    this.state = 'open';
    this.sink.onOpen(this, namespace, this.sessionId, timings);
  }

  /** A connection of which nothing is left is closed. */
  #onRefused(namespace: string, data: { message?: unknown; data?: unknown } | string | undefined): void {
    if (!this.#pending.includes(namespace)) return;
    const error = typeof data === 'object' ? data : { message: data };
    this.#settle(namespace);
    const isLast = this.#connected.length + this.#pending.length === 0;
    const wasOpen = this.state === 'open';
    if (isLast) this.depart(encodeClose());
    this.sink.onRefused(this, namespace, String(error.message), error.data);
    if (isLast && wasOpen) this.sink.onClosed(this, 'io server disconnect', undefined);
  }

  #onDisconnected(namespace: string): void {
    this.#connected = this.#connected.filter((other) => other !== namespace);
    if (this.#connected.length + this.#pending.length === 0) this.leave(encodeClose(), 'io server disconnect');
    else this.sink.onClosed(this, 'io server disconnect', namespace);
  }

  /** The server has answered. */
  #settle(namespace: string): void {
    this.#pending = this.#pending.length === 1 ? NO_NAMESPACES : this.#pending.filter((other) => other !== namespace);
    if (this.#pending.length === 0) this.deadlineMs = 0;
  }
}
