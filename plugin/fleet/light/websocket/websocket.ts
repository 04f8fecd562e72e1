/**
 * The bottom layer of a light connection: WebSocket, from the HTTP upgrade to the last close frame, on the bytes of a wire. The layers
 * above extend this class, so that a connection is a single object. A process holds tens of thousands of connections, so each has few
 * fields and neither closures nor timers.
 */

import { monotonicUs } from '../../../../protocol/base/clock/clock.ts';
import { MAX_PAYLOAD_BYTES, OWN_DISCONNECT } from '../../../../protocol/wire/connection.ts';
import type { ClientOptions } from '../../client/client.ts';
import { type Failure, networkFailure } from '../../client/failure.ts';
import { Attempt } from '../connect-attempt.ts';
import { PerMessageDeflate } from '../deflate/per-message-deflate.ts';
import { refusalOf } from '../http/http-answer.ts';
import type { ConnectionPool, Watched } from '../pool.ts';
import { ProtocolError, protocolError } from '../protocol-error.ts';
import { MAX_UNSENT_BYTES, type Wire, type WireListener } from '../sockets/wire.ts';
import { closeCode, encodeClose, encodeFrame, FrameDecoder, type FrameHandler, OPCODE } from './frames.ts';
import { grantIn, type UpgradePlan } from './websocket-handshake.ts';

/** Time that the server has to answer a close frame before the TCP connection is closed. */
export const CLOSE_TIMEOUT_MS = 5000;

/** `leaving`: the end has been reported, but the server has not closed the TCP connection yet. */
type State = 'idle' | 'connecting' | 'open' | 'closing' | 'leaving' | 'gone';

export abstract class WebSocketConnection<Common extends ConnectionPool = ConnectionPool>
  implements FrameHandler, WireListener, Watched
{
  deadlineMs = 0;
  pingDeadlineMs = 0;
  protected readonly options: ClientOptions;
  protected readonly shared: Common;
  /** `open` once `opened()` was called. */
  protected state: State = 'idle';
  /** Set while connecting. */
  protected attempt: Attempt | undefined = undefined;
  #wire: Wire | undefined = undefined;
  #frames: FrameDecoder;

  constructor(options: ClientOptions, shared: Common) {
    this.options = options;
    this.shared = shared;
    this.#frames = new FrameDecoder(shared.buffers);
  }

  /** Returns destination and request. @throws TypeError with Node's code for an invalid URL or header */
  protected abstract plan(): UpgradePlan;
  /** Called for a complete message; the bytes are valid only during the call. @throws ProtocolError */
  protected abstract onText(bytes: Buffer, start: number, end: number): void;
  protected abstract onBinary(bytes: Buffer, start: number, end: number): void;
  /** Called when the attempt ends before `opened()`. */
  protected abstract onFailed(failure: Failure): void;
  /** Called when an open connection ends: `transport close`, `transport error`, …, or `io client disconnect` after `close()`. */
  protected abstract onClosed(reason: string, why?: Failure): void;

  /** Called when the server has accepted the upgrade. */
  protected onUpgraded(): void {}

  /** Called when a deadline has passed that a layer above has set on an open connection. */
  protected onOverdue(): void {}

  /** Returns the frames that `close()` sends before the close frame. */
  protected lastFrames(): Uint8Array[] {
    return [];
  }

  dial(): void {
    this.state = 'connecting';
    this.setDeadline(this.options.connectTimeoutMs);
    try {
      const plan = this.plan();
      this.attempt = new Attempt(plan, this.shared.buffers);
      this.#wire = this.shared.dial(this, plan, this.options);
    } catch (error) {
      // Reported later, like every other failure, because the caller has not returned yet.
      process.nextTick(() => this.onWireError(error as Error));
    }
  }

  /** Ends the attempt successfully. A deadline that is still set belongs to the layer above. */
  protected opened(): void {
    this.state = 'open';
    this.attempt = undefined;
  }

  /** Closes the connection with a close frame; `onClosed` follows. While connecting, the attempt fails with `closed` instead. */
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

  /** Fails the attempt; an open connection is handled by `onWireClosed`, which follows. */
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
    else if (state === 'closing') this.onClosed(OWN_DISCONNECT);
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

  #readAnswer({ answer: reader, offersCompression }: Attempt, bytes: Buffer, start: number, end: number): void {
    // For an error response, the part of the body that arrived with the head is enough.
    const answer = reader?.read(bytes, start, end, 0) ?? reader?.refusal;
    if (answer === undefined) return;
    if (answer.head.status !== 101) throw new ProtocolError(refusalOf(answer), 'transport error');
    const grant = grantIn(answer.head, offersCompression);
    if (grant !== undefined) this.#frames.deflate = new PerMessageDeflate(grant);
    this.attempt?.beginStage('open');
    this.onUpgraded();
    this.#decode(answer.body, answer.start, answer.end);
  }

  #decode(bytes: Buffer, start: number, end: number): void {
    if (!this.isReading) return;
    this.#frames.decode(bytes, start, end, this, this.options.maxPayloadBytes ?? MAX_PAYLOAD_BYTES);
  }

  /** Handles any error thrown while reading, so that invalid data closes only its own connection and never crashes the process. */
  onReadError(error: unknown): void {
    const { failure, reason } = protocolError(error);
    if (this.state === 'connecting') this.fail(failure);
    else if (this.state === 'open') this.leave(reason, 1002, failure);
    else this.onWireClosed();
  }

  /** Takes over the WebSocket of another connection. */
  protected adopt(other: WebSocketConnection): void {
    this.#wire = other.#wire;
    [this.#frames, other.#frames] = [other.#frames, this.#frames];
    other.#wire = undefined;
    other.destroy();
    if (this.#wire !== undefined) this.#wire.listener = this;
  }

  /** Set if the server has granted compression. */
  protected get deflate(): PerMessageDeflate | undefined {
    return this.#frames.deflate;
  }

  protected get isReading(): boolean {
    return this.state === 'open' || this.state === 'connecting' || this.state === 'closing';
  }

  onFrame(opcode: number, bytes: Buffer, start: number, end: number): boolean {
    if (opcode === OPCODE.close) this.#onCloseFrame(bytes, start, end);
    else if (this.state === 'closing') return true;
    else if (opcode === OPCODE.text) this.onText(bytes, start, end);
    else if (opcode === OPCODE.ping) this.write(encodeFrame(OPCODE.pong, bytes.subarray(start, end)));
    else if (opcode === OPCODE.binary) this.onBinary(bytes, start, end);
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

  /** @param frames complete frames of `encodeFrame` */
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

  /** Destroys the connection without a close frame, which the server would not read. */
  onOverflow(reason: string): void {
    const { state } = this;
    this.destroy();
    // Reported later, because the caller is still changing its state.
    process.nextTick(() => {
      if (state === 'connecting') this.onFailed({ cause: 'buffers_full', message: reason });
      else this.onClosed(state === 'open' ? reason : OWN_DISCONNECT);
    });
  }

  protected fail(failure: Failure): void {
    if (this.state !== 'connecting') return;
    this.destroy();
    this.onFailed(failure);
  }

  /** Ends an open connection for a reason on the server's side. @param code code of the close frame; undefined sends none */
  protected leave(reason: string, code?: number, why?: Failure): void {
    this.depart(code);
    this.onClosed(reason, why);
  }

  /** Sends a close frame and waits a limited time until the server closes the TCP connection. Reports nothing. */
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
