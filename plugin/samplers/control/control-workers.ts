/**
 * Sends requests to the control ports of all Socket.IO workers, such as statistics, clock, garbage collections and
 * broadcasts.
 */
import { type ClockReading, readClock } from '../../../protocol/base/clock/clock.ts';
import { CapacityError } from '../../../protocol/codes/errors.ts';
import type { ProfileKind, V8Profile } from '../../../protocol/profiles/profile-schema.ts';
import type {
  BroadcastRequest,
  BroadcastSent,
  WorkerBatches,
  WorkerEventLoop,
  WorkerResources,
  WorkerStats,
} from '../../../protocol/wire/events.ts';
import { ControlConnection, type ControlOptions } from './control-connection.ts';
import { addressesOf, endpointsOf, type LookupAll } from './control-errors.ts';

/** Timeout of a garbage collection in milliseconds. A full collection of a heap of some GB takes seconds. */
const GC_TIMEOUT_MS = 60_000;
const CLOCK_READINGS = 16;

export type EachControl = { url: string; control: ControlClients } | { url: string; error: CapacityError };

/**
 * Control connections to all workers, which reconnect automatically. Requests reject with a CapacityError that names
 * the worker: SOURCE_UNREACHABLE if its connection is closed, UnansweredRequest without a valid answer, or the worker's
 * own code if the worker refused.
 */
export class ControlClients {
  readonly #workers: ControlConnection[];
  readonly #urls: string[];
  readonly #look: LookupAll | undefined;

  private constructor(workers: ControlConnection[], urls: string[], { look }: ControlOptions) {
    this.#workers = workers;
    this.#urls = urls;
    this.#look = look;
  }

  /**
   * Connects to all workers.
   * @param urls http(s)://host:port of each worker's control port; a host name with several addresses stands for a
   * control port at each address
   * @throws CapacityError SOURCE_UNREACHABLE, CONTROL_MISSING or BAD_TOKEN, after closing all connections
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

  /** Connects to each control port separately, to learn all failures. The caller closes the clients. */
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

  get size(): number {
    return this.#workers.length;
  }

  /** Returns each worker's statistics, in the order of the URLs. */
  stats(timeoutMs?: number): Promise<WorkerStats[]> {
    return Promise.all(this.#workers.map((worker) => worker.request('stats', [], timeoutMs)));
  }

  /**
   * Returns each worker's statistics, in the order of the URLs; undefined for a worker whose connection is closed.
   * @throws CapacityError of a connected worker
   */
  statsOfUp(): Promise<(WorkerStats | undefined)[]> {
    return Promise.all(this.#workers.map(async (worker) => (worker.isConnected ? worker.request('stats') : undefined)));
  }

  /**
   * Returns the error of the last attempt to reconnect to each worker, such as ECONNREFUSED; undefined if no attempt
   * has failed.
   */
  failures(): (string | undefined)[] {
    return this.#workers.map(({ failure }) => failure);
  }

  /** Returns each worker's message counts since the last call. */
  batches(timeoutMs?: number): Promise<WorkerBatches[]> {
    return Promise.all(this.#workers.map((worker) => worker.request('batches', [], timeoutMs)));
  }

  resources(timeoutMs?: number): Promise<WorkerResources[]> {
    return Promise.all(this.#workers.map((worker) => worker.request('resources', [], timeoutMs)));
  }

  /** Starts or stops the recording of every worker's event loop. A worker that fails is missing in the result. */
  async eventLoops(record: boolean): Promise<WorkerEventLoop[]> {
    const asked = this.#workers.map((worker) => worker.request('eventLoop', [record]).catch(() => undefined));
    return (await Promise.all(asked)).filter((answer) => answer !== undefined);
  }

  /**
   * Forces a full garbage collection in every worker, one after the other, because parallel collections would slow down
   * a machine with few cores.
   */
  async gc(timeoutMs = 0): Promise<void> {
    for (const worker of this.#workers) await worker.request('gc', [], Math.max(timeoutMs, GC_TIMEOUT_MS));
  }

  /**
   * Starts profiles, see `Inspectors`.
   * @throws CapacityError of the first worker that cannot be profiled
   */
  async startProfiles(kind: ProfileKind): Promise<void> {
    await this.#profile('start', kind);
  }

  async takeProfiles(): Promise<V8Profile[]> {
    const all = await this.#profile('take', 'cpu');
    return all.flatMap(({ profile }) => profile ?? []);
  }

  async #profile(action: 'start' | 'take', kind: ProfileKind) {
    const all = await Promise.all(
      this.#workers.map((worker) => worker.request('profile', [action, kind], GC_TIMEOUT_MS)),
    );
    const failed = all.find(({ failure }) => failure !== undefined);
    if (failed)
      throw new CapacityError('REQUEST_FAILED', `worker ${failed.worker} cannot be profiled: ${failed.failure}`);
    return all;
  }

  /**
   * Returns the number of servers in the cluster, as counted by one worker's adapter; undefined if the adapter cannot
   * count them.
   */
  async servers(timeoutMs?: number): Promise<number | undefined> {
    try {
      return (await this.#worker(0).request('servers', [], timeoutMs)).servers;
    } catch (error) {
      if ((error as CapacityError).code === 'REQUEST_FAILED') return undefined;
      throw error;
    }
  }

  /**
   * Looks up the host names of the URLs again. New addresses mean that workers were replaced. Never rejects.
   * @returns addresses by host name; names that cannot be looked up are missing
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

  /**
   * Counts the members of a room on all servers of the cluster.
   * @param via index of the worker that counts
   */
  async members(room: string, via: number, timeoutMs?: number): Promise<number> {
    return (await this.#worker(via).request('members', [room], timeoutMs)).members;
  }

  /**
   * Returns the index of the first connected worker. The search starts at index `via`. Returns `via` if no worker is
   * connected.
   */
  reachable(via: number): number {
    const from = (step: number) => (via + step) % this.#workers.length;
    const step = this.#workers.findIndex((_, index) => this.#worker(from(index)).isConnected);
    return step < 0 ? via : from(step);
  }

  /**
   * Requests a broadcast from a worker.
   * @param via index of the worker that publishes the broadcast
   */
  async broadcast(order: BroadcastRequest, via: number, timeoutMs?: number): Promise<BroadcastSent> {
    return this.#worker(via).request('broadcast', [order], timeoutMs);
  }

  /**
   * Reads a worker's clock with one round trip.
   * @param via index of the worker
   */
  clock(via: number, timeoutMs?: number): Promise<ClockReading> {
    return readClock(() => this.#worker(via).request('time', [], timeoutMs));
  }

  /**
   * Reads each worker's clock with several round trips, and keeps the reading of the shortest round trip.
   * @returns readings in the order of the URLs
   */
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

  /**
   * Waits until every connection is open.
   * @returns false if a port is closed, if a worker refuses the run, or after `timeoutMs`
   */
  async reconnected(timeoutMs: number): Promise<boolean> {
    const all = await Promise.all(this.#workers.map((worker) => worker.reconnected(timeoutMs)));
    return all.every(Boolean);
  }

  /** Returns why a worker refuses a reconnect of the run; undefined if no worker refuses. Never rejects. */
  async refusal(): Promise<CapacityError | undefined> {
    const all = await Promise.all(this.#workers.map((worker) => worker.refusal()));
    return all.find((refusal) => refusal !== undefined);
  }

  #worker(index: number): ControlConnection {
    const worker = this.#workers[index];
    if (worker === undefined) throw new RangeError(`no worker ${index}: there are ${this.#workers.length}`);
    return worker;
  }

  /** Idempotent. */
  close(): void {
    for (const worker of this.#workers) worker.close();
  }
}

async function openEach(urls: string[], token: string, options: ControlOptions): Promise<ControlConnection[]> {
  const endpoints = await Promise.all(urls.map((url) => endpointsOf(url, options.look)));
  return endpoints.flat().map((endpoint) => new ControlConnection(endpoint, token, options));
}
