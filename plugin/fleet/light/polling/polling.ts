/**
 * Engine.IO's HTTP long-polling: a GET that waits for packets, and a POST when there are some to send, over kept HTTP/1.1
 * connections of its own, as a browser has them. Requests and bodies are those of socket.io-client 4.8, and so is the change
 * to WebSocket: probe, pause, and then the packet `5`.
 */
import type { ClientOptions } from '../../client/client.ts';
import type { Failure } from '../../client/failure.ts';
import { type Answer, refusalOf } from '../http/http-answer.ts';
import type { ConnectionPool } from '../pool.ts';
import { MAX_UNSENT_BYTES } from '../sockets/wire.ts';
import { CookieJar } from './cookies.ts';
import { HttpConnection, type HttpListener, type Purpose, type WireWatcher } from './http-connection.ts';
import { countFitting, decodePayload, type EngineIoPacket, encodePayload, type PacketHandler } from './payload.ts';
import { encodeRequest, type PollingPlan, planProbe } from './polling-plan.ts';
import { Probe, type ProbeListener } from './upgrade-probe.ts';

export interface PollingListener extends PacketHandler, WireWatcher, Pick<HttpListener, 'onReadError' | 'onOverflow'> {
  onPollingFailed(failure: Failure): void;
  /** The close packet has arrived, or cannot. */
  onWireClosed(): void;
  /**
   * The connection goes on with the probe's WebSocket, which the listener takes over; polling has ended.
   * @param unsent packets that are still to be sent @param tookUs since the handshake
   */
  onWebSocket(probe: Probe, unsent: EngineIoPacket[], tookUs: number): void;
  /** It stays on polling. */
  onProbeFailed(failure: Failure): void;
}

const CLOSE = '1';
export const PONG = '3';
/** Memory of a packet that waits, beside its characters. */
const PACKET_BYTES = 64;

export class Polling implements HttpListener, ProbeListener {
  /** The connection is to be closed as soon as its transport is settled. */
  closesLater = false;
  readonly #cookies: CookieJar;
  readonly #shared: ConnectionPool;
  readonly #plan: PollingPlan;
  readonly #options: ClientOptions;
  readonly #listener: PollingListener;
  #sessionId = '';
  #probe: Probe | undefined = undefined;
  /** At most two: one that waits, one that sends. */
  #connections: HttpConnection[] = [];
  /** `changing`: the server has answered the probe, and nothing more is sent by polling. */
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

  /** It tries to change to WebSocket. */
  get isUpgrading(): boolean {
    return this.#probe !== undefined;
  }

  get isChanging(): boolean {
    return this.#state === 'changing';
  }

  /** Asks for packets; for the handshake, before `opened`. */
  poll(): void {
    if (this.#isPolling) return;
    this.#isPolling = true;
    this.#send('poll', undefined);
  }

  /** The handshake has been read. @param maxPayloadBytes of a request; 0 for any number */
  opened(sessionId: string, maxPayloadBytes: number): void {
    this.#sessionId = sessionId;
    this.#maxPayloadBytes = maxPayloadBytes;
  }

  /** Sends the packet as soon as the one before has been answered. */
  send(packet: EngineIoPacket): void {
    if (this.#state === 'closed') return;
    if (this.#unsentBytes > MAX_UNSENT_BYTES) this.onOverflow('send buffer full');
    else {
      this.#queue(packet);
      this.#flush();
    }
  }

  upgrade(): void {
    const plan = planProbe(this.#plan, this.#sessionId, this.#cookies.line);
    this.#probe = new Probe(this, this.#shared, plan, this.#options);
    this.#probe.dial();
  }

  onProbed(): void {
    if (this.isChanging) return;
    this.#state = 'changing';
    this.#settle();
  }

  onProbeFailed(failure: Failure): void {
    const wasChanging = this.isChanging;
    this.#probe = undefined;
    if (wasChanging) {
      this.#state = 'open';
      if (!this.#isPolling) this.poll();
      this.#flush();
    }
    this.#listener.onProbeFailed(failure);
  }

  /** Sends what waits, then the close packet; `onWireClosed` follows. */
  close(): void {
    this.#dropProbe();
    this.#state = 'closing';
    this.#queue(CLOSE);
    this.#flush();
  }

  /** Ends the connections at once. Nothing is reported afterwards. */
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

  onRequestFailed(failure: Failure): void {
    if (this.#state === 'closing') this.#listener.onWireClosed();
    else if (this.#state !== 'closed') this.#listener.onPollingFailed(failure);
  }

  onAnswer(purpose: Purpose, answer: Answer): void {
    if (this.#state === 'closed') return;
    const { status, headers } = answer.head;
    if (status !== 200) {
      this.onRequestFailed(refusalOf(answer));
      return;
    }
    this.#cookies.keep(headers.get('set-cookie') ?? []);
    if (purpose === 'poll') this.#onPolled(answer);
    else {
      this.#isPosting = false;
      // With nothing left, the answer was to the close packet.
      if (this.#state === 'closing' && this.#unsent.length === 0) this.#listener.onWireClosed();
      else this.#flush();
    }
    this.#settle();
  }

  #onPolled({ body, start, end }: Answer): void {
    this.#isPolling = false;
    decodePayload(body, start, end, this.#listener);
    // While a close packet waits, the server may still have to answer what came before it.
    if (this.#state === 'open' || (this.#state === 'closing' && this.#unsent.length > 0)) this.poll();
  }

  /** Hands over to the probe's WebSocket when nothing is under way any more. */
  #settle(): void {
    const probe = this.#probe;
    if (!this.isChanging || this.#isPolling || this.#isPosting || probe === undefined) return;
    const unsent = this.#take(this.#unsent.length);
    // It is the listener's now.
    this.#probe = undefined;
    this.destroy();
    this.#listener.onWebSocket(probe, unsent, probe.elapsedUs);
  }

  #flush(): void {
    if (this.#isPosting || this.#unsent.length === 0 || (this.#state !== 'open' && this.#state !== 'closing')) return;
    this.#isPosting = true;
    this.#send('post', encodePayload(this.#next()));
  }

  /** The close packet goes alone, as in engine.io-client. */
  #next(): EngineIoPacket[] {
    const unsent = this.#unsent;
    const isClosing = unsent.at(-1) === CLOSE && unsent.length > 1;
    const count = countFitting(isClosing ? unsent.slice(0, -1) : unsent, this.#maxPayloadBytes);
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

  #send(purpose: Purpose, body: string | undefined): void {
    this.#idleConnection().send(purpose, encodeRequest(this.#plan, this.#sessionId, this.#cookies.line, body));
  }

  #idleConnection(): HttpConnection {
    let idle: HttpConnection | undefined;
    let gone = false;
    for (const connection of this.#connections) {
      if (connection.isIdle) idle = connection;
      gone ||= connection.isGone;
    }
    if (gone) this.#connections = this.#connections.filter(({ isGone }) => !isGone);
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
