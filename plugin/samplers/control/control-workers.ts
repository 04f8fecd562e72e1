/** Clients of the control namespace of every Socket.IO worker: statistics, clock, collections, broadcasts. */
import { type ClockReading, readClock } from '../../../protocol/base/clock/clock-reading.ts';
import { CapacityError } from '../../../protocol/codes/errors.ts';
import type { Profile, ProfileKind } from '../../../protocol/profiles/profile-schema.ts';
import type {
  BroadcastOrder,
  BroadcastSent,
  WorkerBatches,
  WorkerEventLoop,
  WorkerResources,
  WorkerStats,
} from '../../../protocol/wire/events.ts';
import { ControlConnection, type ControlOptions } from './control-connection.ts';
import { addressesOf, type LookupAll, placesOf } from './control-places.ts';

/** A full garbage collection of a heap of some GB takes seconds. */
const GC_TIMEOUT_MS = 60_000;
const CLOCK_READINGS = 16;

/** One that was tried. */
export type EachControl = { url: string; control: ControlClients } | { url: string; error: CapacityError };

/**
 * All requests reject with a CapacityError that names the worker: SOURCE_UNREACHABLE when its connection is down, an
 * UnansweredRequest when the request left and no valid answer came, or the code of the worker's own refusal. A lost connection
 * reconnects in the background.
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

  /** As `Inspectors`. @throws CapacityError of the first worker that cannot, or does not allow it */
  async startProfiles(kind: ProfileKind): Promise<void> {
    await this.#profile('start', kind);
  }

  async takeProfiles(): Promise<Profile[]> {
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
  const places = await Promise.all(urls.map((url) => placesOf(url, options.look)));
  return places.flat().map((place) => new ControlConnection(place, token, options));
}
