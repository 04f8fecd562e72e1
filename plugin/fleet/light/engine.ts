/**
 * The lower half of a connection: WebSocket and Engine.IO, from the HTTP upgrade to the last close frame. It knows
 * bytes, not sockets: whoever holds the wire feeds it. There may be tens of thousands of these, so each has few fields,
 * and no closure and no timer of its own.
 */
import { isUtf8 } from 'node:buffer';
import { monotonicUs } from '../../../protocol/clock.ts';
import type { FailureCode } from '../../../protocol/failure-codes.ts';
import { networkCause } from '../cause.ts';
import type { Client, ClientOptions, ClientSink } from '../client.ts';
import { Attempt } from './attempt.ts';
import type { BroadcastReader } from './broadcast.ts';
import { closeCode, encodeClose, encodeFrame, FrameDecoder, type FrameHandler, OPCODE } from './frames.ts';
import { engineIoError, ProtocolError } from './protocol-error.ts';

/** The server's time to answer a goodbye, before the TCP connection is dropped. */
export const CLOSE_TIMEOUT_MS = 5000;
const MAX_PING_INTERVAL_MS = 2 ** 30;

const PACKET = { open: 0x30, close: 0x31, pong: 0x33, ping: 0x32, message: 0x34, upgrade: 0x35, noop: 0x36 } as const;
const PONG = encodeFrame(OPCODE.text, '3');

/** The part of a net.Socket that is needed. */
export interface Wire {
  write(bytes: Uint8Array): unknown;
  end(): unknown;
  end(bytes: Uint8Array): unknown;
  destroy(): unknown;
}

/** What all connections of a process have in common. */
export interface Shared {
  readonly broadcasts: BroadcastReader;
  /** When the chunk that is being read arrived. */
  receivedAtUs: number;
  /** @throws for an impossible URL, source address or certificate */
  dial(connection: EngineConnection, options: ClientOptions): Wire;
  /** From now on `onDeadline` and `onPingOverdue` are called when their time has come. */
  watch(connection: EngineConnection): void;
  unwatch(connection: EngineConnection): void;
  nowMs(): number;
}

/** `leaving`: all is reported, but the server has yet to end the TCP connection. */
type State = 'idle' | 'connecting' | 'open' | 'closing' | 'leaving' | 'gone';

export abstract class EngineConnection implements Client, FrameHandler {
  readonly slot: number;
  interest: Set<string> | undefined = undefined;
  /** When to give up what is being waited for: a stage of connecting, a namespace, the end. 0 is never. */
  deadlineMs = 0;
  /** When the server's next ping must have come. 0 is never. */
  pingDeadlineMs = 0;
  protected readonly options: ClientOptions;
  protected readonly sink: ClientSink;
  protected readonly shared: Shared;
  /** `open` from the first namespace on. */
  protected state: State = 'idle';
  /** Engine.IO's, empty until its handshake. */
  protected sessionId = '';
  /** Present until the first namespace is connected. */
  protected attempt: Attempt | undefined = undefined;
  #wire: Wire | undefined = undefined;
  readonly #frames = new FrameDecoder();
  /** Longest silence between two pings. */
  #pingEveryMs = 0;

  constructor(slot: number, options: ClientOptions, sink: ClientSink, shared: Shared) {
    this.slot = slot;
    this.options = options;
    this.sink = sink;
    this.shared = shared;
  }

  abstract connect(namespace: string): void;
  abstract emit(namespace: string, event: string, args: unknown[], ackId?: number): void;
  abstract close(): void;
  /** Engine.IO's handshake is done. */
  protected abstract onSession(): void;
  /** A text or binary message; the bytes are valid only during the call. @throws ProtocolError */
  protected abstract onMessage(bytes: Buffer, start: number, end: number): void;
  protected abstract onBinary(bytes: Buffer, start: number, end: number): void;
  /** What was asked for on an open connection has not come in time. */
  protected abstract onOverdue(): void;

  destroy(): void {
    const wire = this.#wire;
    this.state = 'gone';
    this.attempt = undefined;
    this.#wire = undefined;
    this.shared.unwatch(this);
    wire?.destroy();
  }

  protected dial(): void {
    this.state = 'connecting';
    this.setDeadline(this.options.connectTimeoutMs);
    try {
      this.attempt = new Attempt(this.options);
      this.#wire = this.shared.dial(this, this.options);
    } catch (error) {
      // Told later, like every other failure: the caller is still inside connect().
      process.nextTick(() => this.onWireError(error as Error));
    }
  }

  /** TCP is connected; TLS, if any, follows. */
  onTcpOpen(): void {
    this.attempt?.reached('upgrade');
  }

  /** Bytes can be sent. */
  onWireOpen(): void {
    if (this.attempt !== undefined) this.write(this.attempt.request);
  }

  /** The error before the wire's end, if one is known. Once open it says no more than the end itself. */
  onWireError(error: NodeJS.ErrnoException): void {
    this.fail(networkCause(error), error.message);
  }

  /** The TCP connection has ended, whoever ended it. */
  onWireClosed(): void {
    const { state } = this;
    if (state === 'connecting') this.fail('closed', 'the server closed the connection while it was being set up');
    this.destroy();
    if (state === 'open') this.sink.onClosed(this, 'transport close', undefined);
    else if (state === 'closing') this.sink.onClosed(this, 'io client disconnect', undefined);
  }

  onDeadline(): void {
    this.deadlineMs = 0;
    if (this.state === 'connecting') {
      const stage = this.attempt?.stage ?? 'tcp';
      this.fail(`timeout_${stage}`, `no answer within ${this.options.connectTimeoutMs} ms (${stage})`);
    } else if (this.state === 'open') this.onOverdue();
    else this.onWireClosed();
  }

  onPingOverdue(): void {
    this.pingDeadlineMs = 0;
    if (this.state === 'open') this.leave(encodeClose(), 'ping timeout');
  }

  /** Bytes from the server, split anywhere. They are read in place and may be overwritten afterwards. */
  feed(bytes: Buffer, start: number, end: number): void {
    this.shared.receivedAtUs = monotonicUs();
    this.sink.onTraffic(end - start, 0);
    try {
      let at = start;
      if (this.attempt?.stage === 'upgrade') {
        at = this.attempt.response.read(bytes, start, end);
        if (at < 0) return;
        this.attempt.reached('open');
      }
      if (this.isReading) this.#frames.decode(bytes, at, end, this);
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      if (this.state === 'connecting') this.fail(error.failure, error.message);
      else if (this.state === 'open') this.leave(encodeClose(1002), error.reason);
      else this.onWireClosed();
    }
  }

  protected get isReading(): boolean {
    return this.state === 'open' || this.state === 'connecting' || this.state === 'closing';
  }

  onFrame(opcode: number, bytes: Buffer, start: number, end: number): boolean {
    if (opcode === OPCODE.close) this.#onCloseFrame(bytes, start, end);
    else if (this.state === 'closing') return true;
    else if (opcode === OPCODE.text) this.#onText(bytes, start, end);
    else if (opcode === OPCODE.ping) this.write(encodeFrame(OPCODE.pong, bytes.subarray(start, end)));
    else if (opcode === OPCODE.binary) {
      if (this.sessionId === '') throw engineIoError('a binary message before the Engine.IO handshake');
      this.onBinary(bytes, start, end);
    }
    return this.isReading;
  }

  #onCloseFrame(bytes: Buffer, start: number, end: number): void {
    const code = closeCode(bytes, start, end);
    if (this.state === 'connecting') {
      const said = bytes.subarray(start + 2, end);
      this.fail(`closed_${code}`, `the server closed the connection: ${code} ${Buffer.from(said)}`.trim());
    } else if (this.state === 'open') this.leave(encodeClose(code === 1005 ? undefined : code), 'transport close');
    else this.#wire?.end();
  }

  #onText(bytes: Buffer, start: number, end: number): void {
    const type = start < end ? bytes[start] : undefined;
    if (this.sessionId === '') this.#onOpenPacket(type === PACKET.open ? decodeText(bytes, start + 1, end) : '');
    else if (type === PACKET.message) this.onMessage(bytes, start + 1, end);
    else if (type === PACKET.ping) {
      this.pingDeadlineMs = this.shared.nowMs() + this.#pingEveryMs;
      this.write(PONG);
    } else if (type === PACKET.close) {
      if (this.state === 'open') this.leave(encodeClose(), 'transport close');
      else this.fail('closed', 'the server closed the Engine.IO session');
    } else if (type !== PACKET.noop && type !== PACKET.pong && type !== PACKET.upgrade) {
      throw engineIoError('unknown Engine.IO packet');
    }
  }

  #onOpenPacket(text: string): void {
    let open: { sid?: unknown; pingInterval?: unknown; pingTimeout?: unknown } | null = null;
    try {
      open = JSON.parse(text);
    } catch {
      // said below
    }
    const sid = open?.sid;
    const pingEveryMs = Number(open?.pingInterval) + Number(open?.pingTimeout);
    if (typeof sid !== 'string' || sid === '' || !(pingEveryMs > 0)) {
      throw engineIoError('the server speaks WebSocket, but sent no Engine.IO handshake');
    }
    this.sessionId = sid;
    this.#pingEveryMs = Math.min(Math.ceil(pingEveryMs), MAX_PING_INTERVAL_MS);
    this.pingDeadlineMs = this.shared.nowMs() + this.#pingEveryMs;
    this.attempt?.reached('namespace');
    this.onSession();
  }

  protected write(bytes: Uint8Array): void {
    if (this.#wire === undefined) return;
    this.#wire.write(bytes);
    this.sink.onTraffic(0, bytes.length);
  }

  /** The attempt is over. */
  protected fail(cause: FailureCode, message: string): void {
    if (this.state !== 'connecting') return;
    this.destroy();
    this.sink.onFailed(this, cause, message);
  }

  /** An open connection ends by the server's doing. */
  protected leave(farewell: Uint8Array, reason: string): void {
    this.depart(farewell);
    this.sink.onClosed(this, reason, undefined);
  }

  /** Says goodbye and leaves the wire to end by itself, within bounds. */
  protected depart(farewell: Uint8Array): void {
    this.state = 'leaving';
    this.attempt = undefined;
    this.pingDeadlineMs = 0;
    this.#wire?.end(farewell);
    this.sink.onTraffic(0, farewell.length);
    this.setDeadline(CLOSE_TIMEOUT_MS);
  }

  protected setDeadline(timeoutMs: number): void {
    this.deadlineMs = this.shared.nowMs() + Math.ceil(timeoutMs);
    this.shared.watch(this);
  }
}

/** @throws ProtocolError */
export function decodeText(bytes: Buffer, start: number, end: number): string {
  const text = bytes.toString('utf8', start, end);
  // What cannot be decoded shows as this character, which may also have been sent.
  if (text.includes('\ufffd') && !isUtf8(bytes.subarray(start, end))) {
    throw engineIoError('a text message that is not UTF-8');
  }
  return text;
}
