/**
 * HTTP long-polling of an Engine.IO session, on its own kept-alive HTTP/1.1 connections: a GET waits for packets, a
 * POST sends them. Requests, bodies and the upgrade to WebSocket are the same as in socket.io-client 4.8.
 */
import type { ClientOptions } from '../../client/client.ts';
import type { ConnectionFailure } from '../../client/failure.ts';
import { failureOfResponse, type HttpResponse } from '../http/http-response.ts';
import type { ConnectionPool } from '../pool.ts';
import { MAX_UNSENT_BYTES } from '../sockets/wire.ts';
import { CookieJar } from './cookies.ts';
import {
  HttpConnection,
  type PollingHttpListener,
  type PollingRequestKind,
  type WireWatcher,
} from './http-connection.ts';
import {
  countFittingPackets,
  decodePayload,
  type EngineIoPacket,
  encodePayload,
  type PacketHandler,
} from './payload.ts';
import { encodeRequest, type PollingPlan, planUpgradeProbe } from './polling-plan.ts';
import { UpgradeProbe, type UpgradeProbeListener } from './upgrade-probe.ts';

export interface PollingListener
  extends PacketHandler,
    WireWatcher,
    Pick<PollingHttpListener, 'onReadError' | 'onOverflow'> {
  onPollingFailed(failure: ConnectionFailure): void;
  /** Called when the server has received the close packet, or cannot receive it. */
  onWireClosed(): void;
  /**
   * Called when polling has ended and the listener must continue with the probe's WebSocket.
   * @param unsent packets that must still be sent
   * @param tookUs microseconds from the handshake to the end of the upgrade
   */
  onWebSocket(probe: UpgradeProbe, unsent: EngineIoPacket[], tookUs: number): void;
  /** Called when the upgrade failed and the session stays on polling. */
  onProbeFailed(failure: ConnectionFailure): void;
}

const CLOSE = '1';
export const PONG_PACKET = '3';
/** Estimated memory of a queued packet in bytes, in addition to its characters. */
const PACKET_BYTES = 64;

export class Polling implements PollingHttpListener, UpgradeProbeListener {
  /** Whether the session must be closed as soon as the upgrade has succeeded or failed. */
  closesLater = false;
  readonly #cookies: CookieJar;
  readonly #shared: ConnectionPool;
  readonly #plan: PollingPlan;
  readonly #options: ClientOptions;
  readonly #listener: PollingListener;
  #sessionId = '';
  #probe: UpgradeProbe | undefined = undefined;
  /** HTTP connections of the session: at most one for the poll and one for POST requests. */
  #connections: HttpConnection[] = [];
  /**
   * State of the session. In `changing`, the server has answered the probe, and no more packets are sent by polling.
   */
  #state: 'open' | 'changing' | 'closing' | 'closed' = 'open';
  #maxPayloadBytes = 0;
  #isPolling = false;
  #isPosting = false;
  #unsent: EngineIoPacket[] = [];
  #unsentBytes = 0;

  constructor(listener: PollingListener, shared: ConnectionPool, plan: PollingPlan, options: ClientOptions) {
    this.#listener = listener;
    this.#shared = shared;
    this.#plan = plan;
    this.#options = options;
    this.#cookies = new CookieJar(plan.cookie);
  }

  /** Whether an upgrade to WebSocket is in progress. */
  get isUpgrading(): boolean {
    return this.#probe !== undefined;
  }

  get isChanging(): boolean {
    return this.#state === 'changing';
  }

  /** Sends a GET for packets; before `opened`, for the handshake. */
  poll(): void {
    if (this.#isPolling) return;
    this.#isPolling = true;
    this.#send('poll', undefined);
  }

  /**
   * Applies the values of the handshake.
   * @param maxPayloadBytes largest body of a request that the server accepts; 0 for no limit
   */
  opened(sessionId: string, maxPayloadBytes: number): void {
    this.#sessionId = sessionId;
    this.#maxPayloadBytes = maxPayloadBytes;
  }

  /** Queues a packet. It is sent when the previous POST has been answered. */
  send(packet: EngineIoPacket): void {
    if (this.#state === 'closed') return;
    if (this.#unsentBytes > MAX_UNSENT_BYTES) this.onOverflow('send buffer full');
    else {
      this.#queue(packet);
      this.#flush();
    }
  }

  upgrade(): void {
    const plan = planUpgradeProbe(this.#plan, this.#sessionId, this.#cookies.line);
    this.#probe = new UpgradeProbe(this, this.#shared, plan, this.#options);
    this.#probe.dial();
  }

  onProbed(): void {
    if (this.isChanging) return;
    this.#state = 'changing';
    this.#handOver();
  }

  onProbeFailed(failure: ConnectionFailure): void {
    const wasChanging = this.isChanging;
    this.#probe = undefined;
    if (wasChanging) {
      this.#state = 'open';
      if (!this.#isPolling) this.poll();
      this.#flush();
    }
    this.#listener.onProbeFailed(failure);
  }

  /** Sends the queued packets, then the close packet; `onWireClosed` follows. */
  close(): void {
    this.#dropProbe();
    this.#state = 'closing';
    this.#queue(CLOSE);
    this.#flush();
  }

  /** Closes the session's HTTP connections at once. Nothing is reported afterwards. */
  destroy(): void {
    this.#dropProbe();
    this.#state = 'closed';
    this.#take(this.#unsent.length);
    for (const connection of this.#connections) connection.destroy();
    this.#connections = [];
  }

  #dropProbe(): void {
    this.#probe?.destroy();
    this.#probe = undefined;
  }

  onOverflow(reason: string): void {
    if (this.#state !== 'closed') this.#listener.onOverflow(reason);
  }

  onReadError(error: unknown): void {
    if (this.#state === 'closing') this.#listener.onWireClosed();
    else if (this.#state !== 'closed') this.#listener.onReadError(error);
  }

  onRequestFailed(failure: ConnectionFailure): void {
    if (this.#state === 'closing') this.#listener.onWireClosed();
    else if (this.#state !== 'closed') this.#listener.onPollingFailed(failure);
  }

  onAnswer(purpose: PollingRequestKind, answer: HttpResponse): void {
    if (this.#state === 'closed') return;
    const { status, headers } = answer.head;
    if (status !== 200) {
      this.onRequestFailed(failureOfResponse(answer));
      return;
    }
    this.#cookies.keep(headers.get('set-cookie') ?? []);
    if (purpose === 'poll') this.#onPolled(answer);
    else {
      this.#isPosting = false;
      // An empty queue means that this is the response to the POST with the close packet.
      if (this.#state === 'closing' && this.#unsent.length === 0) this.#listener.onWireClosed();
      else this.#flush();
    }
    this.#handOver();
  }

  #onPolled({ body, start, end }: HttpResponse): void {
    this.#isPolling = false;
    decodePayload(body, start, end, this.#listener);
    // Polling continues until the close packet is sent, because the server may still answer earlier packets.
    if (this.#state === 'open' || (this.#state === 'closing' && this.#unsent.length > 0)) this.poll();
  }

  /** Passes the probe's WebSocket to the listener, once no request is pending. */
  #handOver(): void {
    const probe = this.#probe;
    if (!this.isChanging || this.#isPolling || this.#isPosting || probe === undefined) return;
    const unsent = this.#take(this.#unsent.length);
    this.#probe = undefined;
    this.destroy();
    this.#listener.onWebSocket(probe, unsent, probe.elapsedUs);
  }

  #flush(): void {
    if (this.#isPosting || this.#unsent.length === 0 || (this.#state !== 'open' && this.#state !== 'closing')) return;
    this.#isPosting = true;
    this.#send('post', encodePayload(this.#next()));
  }

  /** Returns the packets for the next POST. The close packet is sent in a separate POST, as in engine.io-client. */
  #next(): EngineIoPacket[] {
    const unsent = this.#unsent;
    const isClosing = unsent.at(-1) === CLOSE && unsent.length > 1;
    const count = countFittingPackets(isClosing ? unsent.slice(0, -1) : unsent, this.#maxPayloadBytes);
    return this.#take(count);
  }

  #queue(packet: EngineIoPacket): void {
    const bytes = sizeOf(packet);
    try {
      this.#shared.buffers.hold(bytes);
    } catch {
      this.onOverflow('buffers full');
      return;
    }
    this.#unsent.push(packet);
    this.#unsentBytes += bytes;
  }

  #take(count: number): EngineIoPacket[] {
    const taken = this.#unsent.slice(0, count);
    const bytes = taken.reduce((total, packet) => total + sizeOf(packet), 0);
    this.#unsent = this.#unsent.slice(count);
    this.#unsentBytes -= bytes;
    this.#shared.buffers.release(bytes);
    return taken;
  }

  #send(purpose: PollingRequestKind, body: string | undefined): void {
    this.#idleConnection().send(purpose, encodeRequest(this.#plan, this.#sessionId, this.#cookies.line, body));
  }

  #idleConnection(): HttpConnection {
    let idle: HttpConnection | undefined;
    let hasGone = false;
    for (const connection of this.#connections) {
      if (connection.isIdle) idle = connection;
      hasGone ||= connection.isGone;
    }
    if (hasGone) this.#connections = this.#connections.filter(({ isGone }) => !isGone);
    if (idle === undefined) {
      idle = new HttpConnection(this, this.#listener, this.#shared, this.#plan, this.#options);
      this.#connections = [...this.#connections, idle];
    }
    return idle;
  }
}

function sizeOf(packet: EngineIoPacket): number {
  return packet.length + PACKET_BYTES;
}
