/** Clients of the control namespace of every Socket.IO worker: statistics, clock, collections, broadcasts. */
import { io, type Socket } from 'socket.io-client';
import { monotonicUs } from '../../protocol/clock.ts';
import { CapacityError } from '../../protocol/errors.ts';
import {
  type BroadcastOrder,
  type BroadcastSent,
  CONTROL_NAMESPACE,
  type ControlReply,
  type ControlToServerEvents,
  type WorkerBatches,
  type WorkerStats,
} from '../../protocol/events.ts';

/** How far a worker's monotonic clock is ahead of ours, and the largest possible error of that. */
export interface ClockOffset {
  /** When it was read, on our clock. */
  atUs: number;
  offsetUs: number;
  uncertaintyUs: number;
}

const START = 'start the server, with its control token; or correct the list of control addresses';
/** Error codes of Node and OpenSSL. */
const CERTIFICATE_PROBLEM = /CERT|ISSUER|ALTNAME/;
const TRUST =
  'name the certificate of its authority in NODE_EXTRA_CA_CERTS=/path/ca.pem, and use a host name that it is for';

/** A full garbage collection of a heap of some GB takes seconds. */
const GC_TIMEOUT_MS = 60_000;
const CLOCK_READINGS = 16;

/**
 * All requests reject with a CapacityError that names the worker: CONTROL_UNREACHABLE when its connection is down,
 * CONTROL_TIMEOUT when it does not answer, or the code of its own refusal. A lost connection reconnects in the background.
 */
export class ControlClients {
  readonly #workers: ControlClient[];

  private constructor(workers: ControlClient[]) {
    this.#workers = workers;
  }

  /**
   * @param urls http(s)://host:port of each worker's control port
   * @param timeoutMs for connecting and for every request but `gc`
   * @throws CapacityError CONTROL_UNREACHABLE, CONTROL_MISSING or BAD_TOKEN, with no connection left open
   */
  static async connect(urls: string[], token: string, timeoutMs = 5000): Promise<ControlClients> {
    const clients = new ControlClients(urls.map((url) => new ControlClient(url, token, timeoutMs)));
    try {
      await Promise.all(clients.#workers.map((worker) => worker.connected));
      return clients;
    } catch (error) {
      clients.close();
      throw error;
    }
  }

  /** Workers. */
  get size(): number {
    return this.#workers.length;
  }

  /** @returns in the order of the URLs */
  stats(): Promise<WorkerStats[]> {
    return Promise.all(this.#workers.map((worker) => worker.request('stats')));
  }

  /** @returns of the workers that have the request, since it was made before */
  async batches(): Promise<WorkerBatches[]> {
    const asked = this.#workers.map((worker) =>
      worker.request('batches').catch((error) => {
        if ((error as CapacityError).code === 'UNKNOWN_REQUEST') return undefined;
        throw error;
      }),
    );
    return (await Promise.all(asked)).filter((one) => one !== undefined);
  }

  /** Forces a full collection in every worker, one after the other: together they would stall on few cores. */
  async gc(): Promise<void> {
    for (const worker of this.#workers) await worker.request('gc', [], GC_TIMEOUT_MS);
  }

  /** @param via index of the worker that publishes */
  async broadcast(order: BroadcastOrder, via: number): Promise<BroadcastSent> {
    const worker = this.#workers[via];
    if (worker === undefined) throw new RangeError(`no worker ${via}: there are ${this.#workers.length}`);
    return worker.request('broadcast', [order]);
  }

  /** Half of the shortest of several round trips bounds the error. @returns offsets in the order of the URLs */
  time(): Promise<ClockOffset[]> {
    return Promise.all(
      this.#workers.map(async (worker) => {
        let best: ClockOffset = { atUs: 0, offsetUs: 0, uncertaintyUs: Number.POSITIVE_INFINITY };
        for (let reading = 0; reading < CLOCK_READINGS; reading++) {
          const beforeUs = monotonicUs();
          const { monotonicUs: serverUs } = await worker.request('time');
          const afterUs = monotonicUs();
          const [atUs, uncertaintyUs] = [(beforeUs + afterUs) / 2, (afterUs - beforeUs) / 2];
          if (uncertaintyUs < best.uncertaintyUs) best = { atUs, offsetUs: serverUs - atUs, uncertaintyUs };
        }
        return best;
      }),
    );
  }

  /** Idempotent. */
  close(): void {
    for (const worker of this.#workers) worker.close();
  }
}

type Requests = ControlToServerEvents;
type Answer<E extends keyof Requests> =
  Parameters<Requests[E]> extends [...unknown[], (reply: ControlReply<infer T>) => void] ? T : never;

class ControlClient {
  readonly url: string;
  readonly connected: Promise<void>;
  readonly #socket: Socket;
  readonly #timeoutMs: number;

  constructor(url: string, token: string, timeoutMs: number) {
    this.url = url;
    this.#timeoutMs = timeoutMs;
    this.#socket = io(new URL(CONTROL_NAMESPACE, url).href, {
      auth: { token },
      transports: ['websocket'],
      // A separate connection, even if the same process measures twice.
      forceNew: true,
      timeout: timeoutMs,
      reconnectionDelay: 200,
      reconnectionDelayMax: 1000,
    });
    this.connected = new Promise((resolve, reject) => {
      this.#socket.once('connect', resolve);
      this.#socket.once('connect_error', (error) => reject(connectError(url, error)));
    });
    // Awaited later, together with those of the other workers.
    this.connected.catch(() => {});
  }

  async request<E extends keyof Requests>(
    event: E,
    args: unknown[] = [],
    timeoutMs = this.#timeoutMs,
  ): Promise<Answer<E>> {
    if (!this.#socket.connected) throw unreachable(this.url, 'connection lost');
    let reply: ControlReply<Answer<E>>;
    try {
      reply = await this.#socket.timeout(timeoutMs).emitWithAck(event, ...args);
    } catch {
      // socket.io-client rejects in the same way for a timeout and for a lost connection.
      if (!this.#socket.connected) throw unreachable(this.url, `connection lost during \`${event}\``);
      throw new CapacityError(
        'CONTROL_TIMEOUT',
        `worker ${this.url} did not answer \`${event}\` within ${timeoutMs} ms`,
        'its event loop is blocked, or it is out of memory: see its log, or lower the load',
      );
    }
    if (reply.ok) return reply.value;
    throw new CapacityError(reply.code, `worker ${this.url} refused \`${event}\`: ${reply.message}`, 'see its log');
  }

  close(): void {
    this.#socket.disconnect();
  }
}

function connectError(url: string, error: Error & { type?: string; description?: unknown }): CapacityError {
  // Transport errors have a type, a refusal by the server has none; 'timeout' is socket.io-client's own error.
  if (error.type !== undefined || error.message === 'timeout') {
    const { error: cause } = (error.description ?? {}) as { error?: Error };
    const reason = (cause as NodeJS.ErrnoException | undefined)?.code ?? cause?.message ?? error.message;
    return CERTIFICATE_PROBLEM.test(reason) ? unreachable(url, reason, TRUST) : unreachable(url, reason);
  }
  if (error.message === 'Invalid namespace') {
    return new CapacityError(
      'CONTROL_MISSING',
      `${url} is a Socket.IO server without the control namespace ${CONTROL_NAMESPACE}`,
      'call instrument(io) in the server, or give the address of its control port',
    );
  }
  return new CapacityError(
    'BAD_TOKEN',
    `worker ${url} refused the control token`,
    'give the server and the run the same control token',
  );
}

function unreachable(url: string, reason: string, fix = START): CapacityError {
  return new CapacityError('CONTROL_UNREACHABLE', `control port of worker ${url} cannot be reached: ${reason}`, fix);
}
