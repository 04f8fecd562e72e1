/** Clients of the control namespace of every Socket.IO worker: statistics, clock, collections, broadcasts. */
import { io, type Socket } from 'socket.io-client';
import { type ClockReading, readClock } from '../../../protocol/base/clock/clock-reading.ts';
import { CapacityError } from '../../../protocol/codes/errors.ts';
import { onceClosed } from '../../../protocol/wire/client-ends.ts';
import type { TlsOptions } from '../../../protocol/wire/connection.ts';
import {
  type Answer,
  type BroadcastOrder,
  type BroadcastSent,
  CONTROL_NAMESPACE,
  type ControlRequest,
  type WorkerBatches,
  type WorkerEventLoop,
  type WorkerResources,
  type WorkerStats,
} from '../../../protocol/wire/events.ts';
import { guardClient } from '../../../protocol/wire/guard-client.ts';
import { agentTo } from '../../../protocol/wire/http-agent.ts';
import { reasonOf } from '../absence.ts';
import { within } from '../late-answers.ts';
import { connectError, connectFailure, UnansweredRequest, unreachable } from './control-errors.ts';
import { addressesOf, type ControlPlace, type LookupAll, placesOf } from './control-places.ts';
import { replyTo } from './replies.ts';

const TIMEOUT_MS = 5000;
/** A full garbage collection of a heap of some GB takes seconds. */
const GC_TIMEOUT_MS = 60_000;
/** A lost connection is tried again after 0.2 s at most. */
const REFUSAL_TIMEOUT_MS = 1000;
const CLOSED = 'ECONNREFUSED';
const CLOCK_READINGS = 16;
/** Several times what an event loop has to tell after a day: the run stands still while a reply is parsed. */
const MAX_REPLY_BYTES = 8 * 1024 ** 2;

/** One that was tried. */
export type EachControl = { url: string; control: ControlClients } | { url: string; error: CapacityError };

interface ControlOptions {
  tls?: TlsOptions;
  /** For connecting, and for every request but `gc`. */
  timeoutMs?: number;
  look?: LookupAll;
}

/**
 * All requests reject with a CapacityError that names the worker: SOURCE_UNREACHABLE when its connection is down, an
 * UnansweredRequest when the request left and no valid answer came, or the code of the worker's own refusal. A lost connection
 * reconnects in the background.
 */
export class ControlClients {
  readonly #workers: ControlClient[];
  readonly #urls: string[];
  readonly #look: LookupAll | undefined;

  private constructor(workers: ControlClient[], urls: string[], { look }: ControlOptions) {
    this.#workers = workers;
    this.#urls = urls;
    this.#look = look;
  }

  /**
   * @param urls http(s)://host:port of each worker's control port; a name with several addresses stands for one at each
   * @throws CapacityError SOURCE_UNREACHABLE, CONTROL_MISSING or BAD_TOKEN, with no connection left open
   */
  static async connect(urls: string[], token: string, options: ControlOptions = {}): Promise<ControlClients> {
    const workers = await openEach(urls, token, options);
    const clients = new ControlClients(workers, urls, options);
    try {
      await Promise.all(clients.#workers.map((worker) => worker.connected));
      return clients;
    } catch (error) {
      clients.close();
      throw error;
    }
  }

  /**
   * Each control port by itself, so that one that cannot be reached does not hide the others.
   * @returns with the address that it has, if its name has several; the caller closes the clients
   */
  static async connectEach(urls: string[], token: string, options: ControlOptions = {}): Promise<EachControl[]> {
    const workers = await openEach(urls, token, options);
    return Promise.all(
      workers.map(async (worker) => {
        const control = new ControlClients([worker], [], options);
        try {
          await worker.connected;
          return { url: worker.url, control };
        } catch (error) {
          control.close();
          return { url: worker.url, error: error as CapacityError };
        }
      }),
    );
  }

  /** Workers. */
  get size(): number {
    return this.#workers.length;
  }

  /** @returns in the order of the URLs */
  stats(timeoutMs?: number): Promise<WorkerStats[]> {
    return Promise.all(this.#workers.map((worker) => worker.request('stats', [], timeoutMs)));
  }

  /** @returns as `stats`, and undefined of each whose connection is down. @throws CapacityError of one that is up */
  statsOfUp(): Promise<(WorkerStats | undefined)[]> {
    return Promise.all(this.#workers.map(async (one) => (one.isConnected ? one.request('stats') : undefined)));
  }

  /** @returns of each, why it could not reconnect last, such as ECONNREFUSED; undefined where it is up or has not tried */
  failures(): (string | undefined)[] {
    return this.#workers.map(({ failure }) => failure);
  }

  /** @returns since it was asked before */
  batches(timeoutMs?: number): Promise<WorkerBatches[]> {
    return Promise.all(this.#workers.map((worker) => worker.request('batches', [], timeoutMs)));
  }

  resources(timeoutMs?: number): Promise<WorkerResources[]> {
    return Promise.all(this.#workers.map((worker) => worker.request('resources', [], timeoutMs)));
  }

  /** Begins or ends the recording of every worker's event loop. Nothing rests on it: a worker that cannot is left out. */
  async eventLoops(record: boolean): Promise<WorkerEventLoop[]> {
    const asked = this.#workers.map((worker) => worker.request('eventLoop', [record]).catch(() => undefined));
    return (await Promise.all(asked)).filter((one) => one !== undefined);
  }

  /** Forces a full collection in every worker, one after the other: together they would stall on few cores. */
  async gc(timeoutMs = 0): Promise<void> {
    for (const worker of this.#workers) await worker.request('gc', [], Math.max(timeoutMs, GC_TIMEOUT_MS));
  }

  /** @returns of the whole cluster, as one worker's adapter counts them; undefined if that cannot tell */
  async servers(timeoutMs?: number): Promise<number | undefined> {
    try {
      return (await this.#worker(0).request('servers', [], timeoutMs)).servers;
    } catch (error) {
      if ((error as CapacityError).code === 'REQUEST_FAILED') return undefined;
      throw error;
    }
  }

  /**
   * @returns of each name among the URLs, its addresses now: others than before belong to other workers. Without names that cannot
   *   be looked up, and without those that are addresses themselves. Never rejects
   */
  async addresses(): Promise<Record<string, string>> {
    const found = await Promise.all(
      this.#urls.map(async (url) => {
        const addresses = await addressesOf(url, this.#look);
        return [`the workers at ${new URL(url).hostname}`, addresses.map(({ address }) => address).join(', ')] as const;
      }),
    );
    return Object.fromEntries(found.filter(([, addresses]) => addresses !== ''));
  }

  /** @param via index of the worker that asks all others @returns members of the room */
  async members(room: string, via: number, timeoutMs?: number): Promise<number> {
    return (await this.#worker(via).request('members', [room], timeoutMs)).members;
  }

  /** @returns the worker `via` if it can be asked now, or the next one that can; `via` if none can */
  reachable(via: number): number {
    const from = (step: number) => (via + step) % this.#workers.length;
    const step = this.#workers.findIndex((_, index) => this.#worker(from(index)).isConnected);
    return step < 0 ? via : from(step);
  }

  /** @param via index of the worker that publishes */
  async broadcast(order: BroadcastOrder, via: number, timeoutMs?: number): Promise<BroadcastSent> {
    return this.#worker(via).request('broadcast', [order], timeoutMs);
  }

  /** One round trip. @param via index of the worker @returns its clock */
  clock(via: number, timeoutMs?: number): Promise<ClockReading> {
    return readClock(() => this.#worker(via).request('time', [], timeoutMs));
  }

  /** The quickest of several round trips. @returns in the order of the URLs */
  time(): Promise<ClockReading[]> {
    return Promise.all(
      this.#workers.map(async (_, via) => {
        let best = await this.clock(via);
        for (let reading = 1; reading < CLOCK_READINGS; reading++) {
          const next = await this.clock(via);
          if (next.uncertaintyUs < best.uncertaintyUs) best = next;
        }
        return best;
      }),
    );
  }

  /** Waits until every connection is open. @returns false if a port is closed or refuses the run, and after `timeoutMs` */
  async reconnected(timeoutMs: number): Promise<boolean> {
    const all = await Promise.all(this.#workers.map((worker) => worker.reconnected(timeoutMs)));
    return all.every(Boolean);
  }

  /** @returns why a worker that had answered no longer lets the run connect; undefined if none refuses. Never rejects */
  async refusal(): Promise<CapacityError | undefined> {
    const all = await Promise.all(this.#workers.map((worker) => worker.refusal()));
    return all.find((one) => one !== undefined);
  }

  #worker(index: number): ControlClient {
    const worker = this.#workers[index];
    if (worker === undefined) throw new RangeError(`no worker ${index}: there are ${this.#workers.length}`);
    return worker;
  }

  /** Idempotent. */
  close(): void {
    for (const worker of this.#workers) worker.close();
  }
}

class ControlClient {
  readonly url: string;
  readonly connected: Promise<void>;
  readonly #socket: Socket;
  readonly #timeoutMs: number;
  #failure: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Why the last attempt to connect failed; undefined while it is connected. */
  #connectError: CapacityError | undefined;

  constructor({ url, address }: ControlPlace, token: string, { tls = {}, timeoutMs = TIMEOUT_MS }: ControlOptions) {
    this.url = address ? `${url} (${address.address})` : url;
    this.#timeoutMs = timeoutMs;
    this.#socket = io(new URL(CONTROL_NAMESPACE, url).href, {
      extraHeaders: { authorization: `Bearer ${token}` },
      transports: ['websocket'],
      ...({ agent: agentTo(url, tls, { address }), maxPayload: MAX_REPLY_BYTES } as object),
      // A separate connection, even if the same process measures twice.
      forceNew: true,
      timeout: timeoutMs,
      // A worker that was restarted is to be found soon: it publishes, and its statistics are missed.
      reconnectionDelay: 100,
      reconnectionDelayMax: 200,
    });
    guardClient(this.#socket.io);
    this.#socket.on('connect', () => {
      this.#failure = undefined;
      this.#connectError = undefined;
    });
    this.#socket.on('connect_error', (error) => {
      this.#failure = connectFailure(error);
      this.#connectError = connectError(this.url, error);
    });
    const connecting = new Promise<void>((resolve, reject) => {
      const fail = (reason: string) => reject(unreachable(this.url, reason));
      // That of the client ends with the handshake.
      this.#timer = setTimeout(fail, timeoutMs, `no answer within ${timeoutMs} ms`);
      this.#socket.once('connect', resolve);
      this.#socket.once('connect_error', (error) => reject(connectError(this.url, error)));
      onceClosed(this.#socket, (reason) =>
        fail(`it closed the connection before the control namespace opened (${reason})`),
      );
    });
    this.connected = connecting.finally(() => clearTimeout(this.#timer));
    // Awaited later, together with those of the other workers.
    this.connected.catch(() => {});
  }

  get isConnected(): boolean {
    return this.#socket.connected;
  }

  get failure(): string | undefined {
    return this.#failure;
  }

  /** Attempts that only time out may be those of a worker that is blocked. @returns as that of `ControlClients` */
  async reconnected(timeoutMs: number): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const look = () => {
      if (this.isConnected || this.#isRefused || this.#failure === CLOSED || !this.#socket.active) resolve();
    };
    for (const event of ['connect', 'connect_error'] as const) this.#socket.on(event, look);
    look();
    await within(promise, timeoutMs).catch(() => {});
    for (const event of ['connect', 'connect_error'] as const) this.#socket.off(event, look);
    return this.isConnected;
  }

  /** @returns why it may not connect, as soon as that is known, within a limit */
  async refusal(): Promise<CapacityError | undefined> {
    const isOpen = await this.reconnected(REFUSAL_TIMEOUT_MS);
    return !isOpen && this.#isRefused ? this.#connectError : undefined;
  }

  get #isRefused(): boolean {
    return this.#connectError !== undefined && reasonOf(this.#connectError) === 'refused';
  }

  async request<E extends ControlRequest>(
    event: E,
    args: unknown[] = [],
    timeoutMs = this.#timeoutMs,
  ): Promise<Answer<E>> {
    if (!this.#socket.connected) throw this.#connectError ?? unreachable(this.url, 'connection lost');
    let answer: unknown;
    try {
      answer = await this.#socket.timeout(timeoutMs).emitWithAck(event, ...args);
    } catch {
      // socket.io-client rejects in the same way for a timeout and for a lost connection.
      if (!this.#socket.connected) {
        const { code, message, fix } = unreachable(this.url, `connection lost during \`${event}\``);
        throw new UnansweredRequest(code, message, fix);
      }
      throw new UnansweredRequest(
        'CONTROL_TIMEOUT',
        `worker ${this.url} did not answer \`${event}\` within ${timeoutMs} ms`,
      );
    }
    const reply = replyTo(event, answer);
    if (reply === undefined) {
      throw new UnansweredRequest(
        'VERSIONS_DIFFER',
        `worker ${this.url} answered \`${event}\` with something else than a reply`,
      );
    }
    if (reply.ok) return reply.value;
    throw new CapacityError(reply.code, `worker ${this.url} refused \`${event}\`: ${reply.message}`, 'see its log');
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#socket.disconnect();
  }
}

async function openEach(urls: string[], token: string, options: ControlOptions): Promise<ControlClient[]> {
  const places = await Promise.all(urls.map((url) => placesOf(url, options.look)));
  return places.flat().map((place) => new ControlClient(place, token, options));
}
