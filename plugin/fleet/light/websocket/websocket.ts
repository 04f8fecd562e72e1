/**
 * Lowest layer of a light connection: a WebSocket on a socket's bytes, from the upgrade request to the close frame.
 * Higher layers extend this class, so a connection is a single object. A process holds tens of thousands of these
 * objects, so they have few fields, no closures and no timers.
 */

import { monotonicUs } from '../../../../protocol/base/clock/clock.ts';
import { CLIENT_DISCONNECT_REASON, MAX_PAYLOAD_BYTES } from '../../../../protocol/wire/connection.ts';
import type { ClientOptions } from '../../client/client.ts';
import { type ConnectionFailure, networkFailure } from '../../client/failure.ts';
import { ConnectAttempt } from '../connect-attempt.ts';
import { PerMessageDeflate } from '../deflate/per-message-deflate.ts';
import { failureOfResponse } from '../http/http-response.ts';
import type { ConnectionPool, PooledConnection } from '../pool.ts';
import { ProtocolError, protocolError } from '../protocol-error.ts';
import { MAX_UNSENT_BYTES, type Wire, type WireListener } from '../sockets/wire.ts';
import { closeCode, encodeClose, encodeFrame, FrameDecoder, type FrameHandler, WEBSOCKET_OPCODE } from './frames.ts';
import { deflateGrantIn, type UpgradePlan } from './websocket-handshake.ts';

/** Milliseconds that the server has to answer a close frame before the client closes the TCP connection. */
export const CLOSE_TIMEOUT_MS = 5000;

/**
 * State of the connection. In the state `leaving`, the end of the connection has been reported, but the TCP connection
 * is not closed yet.
 */
type State = 'idle' | 'connecting' | 'open' | 'closing' | 'leaving' | 'gone';

export abstract class WebSocketConnection<Common extends ConnectionPool = ConnectionPool>
  implements FrameHandler, WireListener, PooledConnection
{
  deadlineMs = 0;
  pingDeadlineMs = 0;
  protected readonly options: ClientOptions;
  protected readonly shared: Common;
  protected state: State = 'idle';
  /** State of the connection attempt; undefined unless the connection is being opened. */
  protected attempt: ConnectAttempt | undefined = undefined;
  #wire: Wire | undefined = undefined;
  #frames: FrameDecoder;

  constructor(options: ClientOptions, shared: Common) {
    this.options = options;
    this.shared = shared;
    this.#frames = new FrameDecoder(shared.buffers);
  }

  /**
   * Returns server and upgrade request.
   * @throws TypeError with Node's code for an invalid URL or header
   */
  protected abstract plan(): UpgradePlan;
  /**
   * Called with a complete text message; the bytes are valid only during the call.
   * @throws ProtocolError
   */
  protected abstract onText(bytes: Buffer, start: number, end: number): void;
  protected abstract onBinary(bytes: Buffer, start: number, end: number): void;
  /** Called when the connection attempt fails. */
  protected abstract onFailed(failure: ConnectionFailure): void;
  /**
   * Called when an open connection ends. `reason` is `transport close`, `transport error`, …, or `io client disconnect`
   * after `close()`.
   */
  protected abstract onClosed(reason: string, why?: ConnectionFailure): void;

  /** Called when the server has accepted the upgrade. */
  protected onUpgraded(): void {}

  /** Called when the deadline of an open connection has passed. Only a higher layer sets such a deadline. */
  protected onOverdue(): void {}

  /** Returns further frames that are sent before the close frame. */
  protected lastFrames(): Uint8Array[] {
    return [];
  }

  dial(): void {
    this.state = 'connecting';
    this.setDeadline(this.options.connectTimeoutMs);
    try {
      const plan = this.plan();
      this.attempt = new ConnectAttempt(plan, this.shared.buffers);
      this.#wire = this.shared.dial(this, plan, this.options);
    } catch (error) {
      // The error is reported asynchronously, because the caller has not returned yet.
      process.nextTick(() => this.onWireError(error as Error));
    }
  }

  /** Marks the connection as open. A deadline that is still set stays in force. */
  protected opened(): void {
    this.state = 'open';
    this.attempt = undefined;
  }

  /**
   * Closes an open connection with a close frame; `onClosed` follows. A connection that is still connecting fails with
   * `closed`.
   */
  close(): void {
    if (this.state === 'connecting') {
      process.nextTick(() => this.fail({ cause: 'closed', message: 'closed by the client before it was open' }));
    } else if (this.state === 'open') {
      this.state = 'closing';
      this.pingDeadlineMs = 0;
      this.setDeadline(CLOSE_TIMEOUT_MS);
      this.write(Buffer.concat([...this.lastFrames(), encodeClose()]));
    }
  }

  /** Closes the TCP connection at once. Nothing is reported afterwards. */
  destroy(): void {
    const wire = this.#wire;
    this.state = 'gone';
    this.discard();
    this.#wire = undefined;
    this.shared.unwatch(this);
    if (wire === undefined) return;
    this.shared.buffers.forget(wire);
    wire.destroy();
  }

  onTcpOpen(): void {
    this.attempt?.beginStage('tls');
  }

  onWireOpen(tlsResumed: boolean): void {
    const { attempt } = this;
    if (attempt?.request === undefined) return;
    attempt.beginStage('upgrade');
    attempt.tlsResumed = tlsResumed;
    this.write(attempt.request);
  }

  /** Fails the connection attempt. For an open connection, `onWireClosed` follows and ends it. */
  onWireError(error: NodeJS.ErrnoException): void {
    this.fail(networkFailure(error));
  }

  onWireClosed(): void {
    const { state } = this;
    if (state === 'connecting') {
      this.fail({ cause: 'closed', message: 'the server closed the connection while it was being set up' });
    }
    this.destroy();
    if (state === 'open') this.onClosed('transport close', { cause: 'closed_1006', message: '' });
    else if (state === 'closing') this.onClosed(CLIENT_DISCONNECT_REASON);
  }

  onDeadline(): void {
    this.deadlineMs = 0;
    if (this.state === 'connecting') {
      const stage = this.attempt?.stage ?? 'tcp';
      const message = `no answer within ${this.options.connectTimeoutMs} ms (${stage})`;
      this.fail({ cause: `timeout_${stage}`, message });
    } else if (this.state === 'open') this.onOverdue();
    else this.onWireClosed();
  }

  onPingOverdue(): void {
    this.pingDeadlineMs = 0;
    if (this.state === 'open') this.leave('ping timeout');
  }

  feed(bytes: Buffer, start: number, end: number): void {
    this.shared.receivedAtUs = monotonicUs();
    try {
      const { attempt } = this;
      if (attempt?.stage === 'upgrade' && attempt.answer !== undefined) this.#readAnswer(attempt, bytes, start, end);
      else this.#decode(bytes, start, end);
    } catch (error) {
      this.onReadError(error);
    }
  }

  #readAnswer({ answer: reader, offersCompression }: ConnectAttempt, bytes: Buffer, start: number, end: number): void {
    // An error response can be reported as soon as its head has arrived.
    const answer = reader?.read(bytes, start, end, 0) ?? reader?.refusal;
    if (answer === undefined) return;
    if (answer.head.status !== 101) throw new ProtocolError(failureOfResponse(answer), 'transport error');
    const grant = deflateGrantIn(answer.head, offersCompression);
    if (grant !== undefined) this.#frames.deflate = new PerMessageDeflate(grant);
    this.attempt?.beginStage('open');
    this.onUpgraded();
    this.#decode(answer.body, answer.start, answer.end);
  }

  #decode(bytes: Buffer, start: number, end: number): void {
    if (!this.isReading) return;
    this.#frames.decode(bytes, start, end, this, this.options.maxPayloadBytes ?? MAX_PAYLOAD_BYTES);
  }

  /**
   * Handles an error thrown while reading. Invalid data closes only its own connection, and never crashes the process.
   */
  onReadError(error: unknown): void {
    const { failure, reason } = protocolError(error);
    if (this.state === 'connecting') this.fail(failure);
    else if (this.state === 'open') this.leave(reason, 1002, failure);
    else this.onWireClosed();
  }

  /** Takes over the socket of another WebSocket connection. */
  protected adopt(other: WebSocketConnection): void {
    this.#wire = other.#wire;
    [this.#frames, other.#frames] = [other.#frames, this.#frames];
    other.#wire = undefined;
    other.destroy();
    if (this.#wire !== undefined) this.#wire.listener = this;
  }

  /** Compression of the connection; undefined if the server has not granted it. */
  protected get deflate(): PerMessageDeflate | undefined {
    return this.#frames.deflate;
  }

  protected get isReading(): boolean {
    return this.state === 'open' || this.state === 'connecting' || this.state === 'closing';
  }

  onFrame(opcode: number, bytes: Buffer, start: number, end: number): boolean {
    if (opcode === WEBSOCKET_OPCODE.close) this.#onCloseFrame(bytes, start, end);
    else if (this.state === 'closing') return true;
    else if (opcode === WEBSOCKET_OPCODE.text) this.onText(bytes, start, end);
    else if (opcode === WEBSOCKET_OPCODE.ping)
      this.write(encodeFrame(WEBSOCKET_OPCODE.pong, bytes.subarray(start, end)));
    else if (opcode === WEBSOCKET_OPCODE.binary) this.onBinary(bytes, start, end);
    return this.isReading;
  }

  #onCloseFrame(bytes: Buffer, start: number, end: number): void {
    const code = closeCode(bytes, start, end);
    const closeReason = bytes.toString('utf8', Math.min(start + 2, end), end);
    if (this.state === 'connecting') {
      this.fail({
        cause: `closed_${code}`,
        message: `the server closed the connection: ${code} ${closeReason}`.trim(),
      });
    } else if (this.state === 'open') {
      const why = { cause: `closed_${code}`, message: closeReason } as const;
      this.leave('transport close', code === 1005 ? undefined : code, why);
    } else this.#wire?.end();
  }

  /**
   * Writes frames to the socket.
   * @param frames complete frames of `encodeFrame`
   */
  protected write(frames: Uint8Array): void {
    const wire = this.#wire;
    if (wire === undefined) return;
    if (wire.writableLength > MAX_UNSENT_BYTES) {
      this.onOverflow('send buffer full');
      return;
    }
    wire.write(frames);
    if (wire.writableLength > 0 && !this.shared.buffers.countUnsent(wire)) this.onOverflow('buffers full');
  }

  /** Destroys the connection without a close frame, because the server does not read. */
  onOverflow(reason: string): void {
    const { state } = this;
    this.destroy();
    // The error is reported asynchronously, because the caller has not returned yet.
    process.nextTick(() => {
      if (state === 'connecting') this.onFailed({ cause: 'buffers_full', message: reason });
      else this.onClosed(state === 'open' ? reason : CLIENT_DISCONNECT_REASON);
    });
  }

  protected fail(failure: ConnectionFailure): void {
    if (this.state !== 'connecting') return;
    this.destroy();
    this.onFailed(failure);
  }

  /**
   * Ends an open connection because of the server's behaviour, such as missing pings or a close frame.
   * @param code code of the close frame to send; undefined to send none
   */
  protected leave(reason: string, code?: number, why?: ConnectionFailure): void {
    this.depart(code);
    this.onClosed(reason, why);
  }

  /**
   * Sends a close frame, and gives the server limited time to close the TCP connection. Does not notify higher layers.
   */
  protected depart(code?: number): void {
    this.state = 'leaving';
    this.discard();
    this.pingDeadlineMs = 0;
    this.#wire?.end(encodeClose(code));
    this.setDeadline(CLOSE_TIMEOUT_MS);
  }

  /** Stops reading and releases incomplete data. */
  protected discard(): void {
    this.attempt?.answer?.discard();
    this.attempt = undefined;
    this.#frames.discard();
  }

  protected setDeadline(timeoutMs: number): void {
    this.deadlineMs = this.shared.nowMs() + Math.ceil(timeoutMs);
    this.shared.watch(this);
  }
}
