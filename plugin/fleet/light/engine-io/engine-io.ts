/**
 * The middle layer of a light connection: Engine.IO 4 with handshake, pings and messages. Its transport is WebSocket (the layer below), or
 * HTTP long-polling, which it can upgrade to WebSocket as socket.io-client does.
 */
import { getOrAdd } from '../../../../protocol/base/get-or-add.ts';
import { type ClientOptions, ClientTraffic, type TransportState } from '../../client/client.ts';
import { type ConnectionFailure, NO_UPGRADE_FAILURE } from '../../client/failure.ts';
import { ConnectAttempt } from '../connect-attempt.ts';
import { BASE64_PACKET_TYPE, decodeBinary, type EngineIoPacket } from '../polling/payload.ts';
import { PONG_PACKET, Polling, type PollingListener } from '../polling/polling.ts';
import { type PollingPlan, planPolling } from '../polling/polling-plan.ts';
import type { UpgradeProbe } from '../polling/upgrade-probe.ts';
import type { ConnectionPool } from '../pool.ts';
import { engineIoError } from '../protocol-error.ts';
import { encodeFrame, largestPayload, WEBSOCKET_OPCODE } from '../websocket/frames.ts';
import { CLOSE_TIMEOUT_MS, WebSocketConnection } from '../websocket/websocket.ts';
import { planUpgrade, type UpgradePlan } from '../websocket/websocket-handshake.ts';
import {
  encodeMessages,
  engineIoPacketOf,
  engineIoRequestTarget,
  readHandshake,
  webSocketFrameOf,
} from './engine-io-handshake.ts';

const PACKET = { open: 0x30, close: 0x31, pong: 0x33, ping: 0x32, message: 0x34, upgrade: 0x35, noop: 0x36 } as const;
const PONG_FRAME = encodeFrame(WEBSOCKET_OPCODE.text, PONG_PACKET);
const UPGRADE = encodeFrame(WEBSOCKET_OPCODE.text, '5');

/** Prepared upgrade requests by connection options. All connections with the same options share them. */
const upgradePlans = new WeakMap<ClientOptions, UpgradePlan>();
const pollingPlans = new WeakMap<ClientOptions, PollingPlan>();

export abstract class EngineIoConnection<Common extends ConnectionPool>
  extends WebSocketConnection<Common>
  implements PollingListener
{
  readonly traffic = new ClientTraffic();
  /** Session id from the handshake; empty before. */
  protected sessionId = '';
  /** Longest time between two pings of the server, in milliseconds. */
  #pingEveryMs = 0;
  /** State of the polling transport; undefined on WebSocket. */
  #polling: Polling | undefined = undefined;

  /**
   * Called after the Engine.IO handshake. The implementation must call `opened()` or begin the next stage of `attempt`.
   */
  protected abstract onSession(): void;
  /**
   * Called with the text of a message, without its packet type; the bytes are valid only during the call.
   * @throws ProtocolError
   */
  protected abstract onMessage(bytes: Buffer, start: number, end: number): void;
  protected abstract onBinaryMessage(bytes: Buffer, start: number, end: number): void;

  /** Called when the transport has changed from polling to WebSocket. @param tookUs time since the handshake */
  protected abstract onTransportChanged(tookUs: number): void;
  /** Called when the transport stays on polling although the options include WebSocket. */
  protected abstract onTransportKept(failure: ConnectionFailure): void;

  /** Returns the messages that `close()` sends before it closes the connection. */
  protected abstract lastMessages(): EngineIoPacket[];

  get transport(): TransportState {
    if (this.#polling !== undefined) return 'polling';
    return beginsWithPolling(this.options) ? 'upgraded' : 'websocket';
  }

  get isCompressed(): boolean {
    return this.deflate !== undefined;
  }

  /** Whether an upgrade from polling to WebSocket is in progress. */
  get isUpgrading(): boolean {
    return this.#polling?.isUpgrading === true;
  }

  protected override plan(): UpgradePlan {
    const { options } = this;
    return getOrAdd(upgradePlans, options, () => planUpgrade(options, engineIoRequestTarget(options, 'websocket')));
  }

  override dial(): void {
    if (!beginsWithPolling(this.options)) {
      super.dial();
      return;
    }
    this.state = 'connecting';
    const { options } = this;
    this.setDeadline(options.connectTimeoutMs);
    this.attempt = new ConnectAttempt(undefined, this.shared.buffers);
    try {
      const plan = getOrAdd(pollingPlans, options, () => planPolling(options));
      this.#polling = new Polling(this, this.shared, plan, options);
      this.#polling.poll();
    } catch (error) {
      process.nextTick(() => this.onWireError(error as Error));
    }
  }

  /**
   * Sends messages.
   * @param frames uncompressed WebSocket frames of the messages, if they are already encoded
   */
  protected sendMessages(messages: readonly EngineIoPacket[], frames?: Uint8Array): void {
    const polling = this.#polling;
    if (frames === undefined) this.traffic.sends(messages);
    else this.traffic.grow(largestPayload(frames, this.traffic.largestSentBytes));
    if (polling === undefined) {
      const { deflate } = this;
      this.write(deflate === undefined && frames !== undefined ? frames : encodeMessages(messages, deflate));
    } else for (const message of messages) polling.send(engineIoPacketOf(message));
  }

  override close(): void {
    const polling = this.#polling;
    if (polling === undefined || this.state !== 'open') super.close();
    else if (polling.isChanging) polling.closesLater = true;
    else {
      this.state = 'closing';
      this.#leavePolling(polling, this.lastMessages());
    }
  }

  override destroy(): void {
    const polling = this.#polling;
    this.#polling = undefined;
    polling?.destroy();
    super.destroy();
  }

  protected override depart(code?: number): void {
    if (this.#polling === undefined) super.depart(code);
    else {
      this.state = 'leaving';
      this.discard();
      this.#leavePolling(this.#polling, []);
    }
  }

  #leavePolling(polling: Polling, messages: readonly EngineIoPacket[]): void {
    this.pingDeadlineMs = 0;
    this.setDeadline(CLOSE_TIMEOUT_MS);
    for (const message of messages) polling.send(engineIoPacketOf(message));
    polling.close();
  }

  protected override lastFrames(): Uint8Array[] {
    return this.lastMessages().map((message) => encodeMessages([message], this.deflate));
  }

  protected override onText(bytes: Buffer, start: number, end: number): void {
    if (this.sessionId === '') {
      this.#onHandshake(bytes, start, end);
      return;
    }
    const type = start < end ? bytes[start] : undefined;
    if (type === PACKET.message) this.onMessage(bytes, start + 1, end);
    else if (type === PACKET.ping) {
      this.pingDeadlineMs = this.shared.nowMs() + this.#pingEveryMs;
      if (this.#polling === undefined) this.write(PONG_FRAME);
      else this.#polling.send(PONG_PACKET);
    } else if (type === PACKET.close) {
      // A close packet is ignored on WebSocket: engine.io-client waits for the close frame.
      if (this.#polling !== undefined) this.#onPollingClosed();
    } else if (type === BASE64_PACKET_TYPE) {
      const attachment = decodeBinary(bytes, start, end);
      this.onBinary(attachment, 0, attachment.length);
    } else if (type === PACKET.open) {
      throw new Error('a second Engine.IO handshake');
    } else if (type !== PACKET.noop && type !== PACKET.pong && type !== PACKET.upgrade) {
      throw engineIoError('unknown Engine.IO packet');
    }
  }

  /** Handles a close packet that arrives by polling. */
  #onPollingClosed(): void {
    const wasOpen = this.state === 'open';
    if (wasOpen) {
      this.destroy();
      this.onClosed('transport close', { cause: 'closed_1005', message: '' });
    } else this.onWireClosed();
  }

  protected override onBinary(bytes: Buffer, start: number, end: number): void {
    if (this.sessionId === '') throw engineIoError('a binary message before the Engine.IO handshake');
    this.onBinaryMessage(bytes, start, end);
  }

  /**
   * Reads the handshake, and sends in the order of engine.io-client: messages of `onSession`, the probe, the next poll.
   */
  #onHandshake(bytes: Buffer, start: number, end: number): void {
    const { sessionId, pingEveryMs, offersWebSocket, announced } = readHandshake(bytes, start, end);
    this.sessionId = sessionId;
    this.traffic.announced = announced;
    this.#pingEveryMs = pingEveryMs;
    this.pingDeadlineMs = this.shared.nowMs() + pingEveryMs;
    this.#polling?.opened(sessionId, announced.maxPayloadBytes);
    this.onSession();
    if (this.#polling === undefined || !this.options.transports.includes('websocket')) return;
    if (offersWebSocket) this.#polling.upgrade();
    else this.onTransportKept(NO_UPGRADE_FAILURE);
  }

  override onTcpOpen(): void {
    if (this.#polling === undefined || this.attempt?.stage === 'tcp') super.onTcpOpen();
  }

  override onWireOpen(tlsResumed: boolean): void {
    if (this.#polling === undefined) super.onWireOpen(tlsResumed);
    else if (this.attempt?.stage === 'tcp' || this.attempt?.stage === 'tls') {
      this.attempt.beginStage('open');
      this.attempt.tlsResumed = tlsResumed;
    }
  }

  onPacket(bytes: Buffer, start: number, end: number): boolean {
    if (this.state !== 'closing') this.onText(bytes, start, end);
    return this.isReading;
  }

  onBinaryPacket(bytes: Buffer): boolean {
    if (this.state !== 'closing') this.onBinary(bytes, 0, bytes.length);
    return this.isReading;
  }

  onPollingFailed(failure: ConnectionFailure): void {
    const wasOpen = this.state === 'open';
    this.fail(failure);
    this.destroy();
    if (wasOpen) this.onClosed('transport error', failure);
  }

  onWebSocket(probe: UpgradeProbe, unsent: EngineIoPacket[], tookUs: number): void {
    const { closesLater } = this.#polling ?? {};
    this.#polling = undefined;
    this.adopt(probe);
    this.write(UPGRADE);
    for (const packet of unsent) this.write(webSocketFrameOf(packet, this.deflate));
    this.onTransportChanged(tookUs);
    if (closesLater) this.close();
  }

  onProbeFailed(failure: ConnectionFailure): void {
    this.onTransportKept(failure);
    if (this.#polling?.closesLater) this.close();
  }
}

function beginsWithPolling({ transports }: ClientOptions): boolean {
  return transports[0] === 'polling';
}
