/**
 * Reads the memory of unmodified servers: of Node and Deno through their inspectors, of JVMs through the attach
 * protocol, of Go through pprof pages. Reads one process at a time, because all inspectors of a machine use the same
 * port.
 */

import { getOrAdd } from '../../../protocol/base/get-or-add.ts';
import { tryOrUndefined } from '../../../protocol/base/try-or-undefined.ts';
import type { InspectedRuntime, ServerRuntime } from '../../../protocol/documents/server-runtimes.ts';
import type { ProfileKind, V8Profile } from '../../../protocol/profiles/profile-schema.ts';
import { SourceAbsentError } from '../absence.ts';
import { findPprof, GoServer, isGoUrl } from './go.ts';
import { type InspectedMemory, type InspectedProcess, runtimeOfProcess } from './inspected.ts';
import { JvmProcess, mayAttachToJvm } from './jvm.ts';
import { requireInspectable, withoutPrimaries } from './may-open.ts';
import { NodeProcess } from './node.ts';

/**
 * Maximum age in milliseconds of the memory figures that were read with the last garbage collection. Younger figures
 * are used without a new reading.
 */
const COLLECTED_AGE_MS = 2000;
/**
 * Runtimes that the run tries to read. An unknown runtime is included, because the attempt shows why the process cannot
 * be read.
 */
const READABLE: (ServerRuntime | undefined)[] = ['node', 'jvm', undefined];

interface InspectorSources {
  /**
   * Returns process ids on this machine. Go processes are read only if there are no processes of Node, Deno or a JVM.
   * Processes of other runtimes are ignored.
   */
  pids?: () => Promise<number[]>;
  /** URLs of open inspectors (`http:` or `ws:`), or of pprof pages. */
  urls?: string[];
}

export class Inspectors {
  readonly #sources: InspectorSources;
  readonly #known = new Map<number | string, InspectedProcess>();
  /** URLs of the pprof pages of Go processes, by process id. */
  readonly #pprof = new Map<number, Promise<string | undefined>>();
  /** Processes that the latest request for memory or profiles reached. */
  #current: InspectedProcess[] = [];
  readonly #collections = new Map<InspectedProcess, number>();
  /** Errors of the last garbage collection, by process. */
  readonly #failures = new Map<InspectedProcess, Error>();
  /** Memory that was read with the last garbage collection, for a call of `read` soon afterwards. */
  #collected: { memory: InspectedMemory[] | Error; atMs: number } | undefined;
  #queue: Promise<unknown> = Promise.resolve();
  #isClosing = false;
  /** Longest pause of a process that one forced garbage collection caused, in milliseconds. */
  longestPauseMs = 0;

  private constructor(sources: InspectorSources) {
    this.#sources = sources;
  }

  /** Number of processes that the latest request reached. */
  get size(): number {
    return this.#current.length;
  }

  /** Runtime of the processes at the last request. If there are several runtimes, the first runtime other than V8. */
  get runtime(): InspectedRuntime {
    return this.#current.find(({ runtime }) => runtime !== 'v8')?.runtime ?? 'v8';
  }

  /**
   * Reads each process once, to check that this works.
   * @throws CapacityError of the first process that cannot be inspected, or INSPECTOR_UNSUITABLE
   */
  static async connect(sources: InspectorSources): Promise<Inspectors> {
    const inspectors = new Inspectors(sources);
    try {
      for (const one of await inspectors.#all()) await inspectors.#enqueue(() => one.read(false));
      return inspectors;
    } catch (error) {
      await inspectors.close();
      throw error;
    }
  }

  /**
   * Forces a full garbage collection in every process. Does not throw: `stats` contains the reason if a process is
   * unavailable.
   */
  async gc(): Promise<void> {
    this.#collected = undefined;
    this.#failures.clear();
    const read = await this.#each(await this.#all(), (one) => this.#collect(one));
    const memory = read.filter((one) => one !== undefined);
    this.longestPauseMs = Math.max(this.longestPauseMs, ...memory.map(({ pauseMs }) => pauseMs));
    const [failure] = this.#failures.values();
    this.#collected = { memory: failure ?? memory, atMs: performance.now() };
  }

  async #collect(one: InspectedProcess): Promise<InspectedMemory | undefined> {
    try {
      const memory = await one.read(true);
      this.#collections.set(one, this.#collectionsOf(one) + 1);
      return memory;
    } catch (error) {
      this.#failures.set(one, error as Error);
      return undefined;
    }
  }

  /**
   * Returns the number of garbage collections so far, without a request to the processes. `failure`: why the last
   * collection is missing.
   */
  async stats(): Promise<{ worker: string; collections: number; failure?: string | undefined }[]> {
    return this.#current.map((one) => ({
      worker: one.name,
      collections: this.#collectionsOf(one),
      failure: this.#failures.get(one)?.message,
    }));
  }

  #collectionsOf(one: InspectedProcess): number {
    return this.#collections.get(one) ?? 0;
  }

  /**
   * Reads the memory of each process. Right after `gc`, returns the memory directly after that garbage collection.
   * @throws CapacityError or SourceAbsentError if a process is unavailable, or could not collect its garbage
   */
  async memory(): Promise<InspectedMemory[]> {
    const collected = this.#collected;
    this.#collected = undefined;
    if (collected && performance.now() - collected.atMs < COLLECTED_AGE_MS) {
      if (collected.memory instanceof Error) throw collected.memory;
      return collected.memory;
    }
    const all = await this.#all();
    if (all.length === 0) throw new SourceAbsentError('gone', 'there is no process to inspect');
    return this.#each(all, (one) => one.read(false));
  }

  /**
   * Starts profiles: the processes record where they allocate memory or use CPU.
   * @throws CapacityError or SourceAbsentError if a process cannot be profiled
   */
  async startProfiles(kind: ProfileKind): Promise<void> {
    await this.#each(await this.#all(), (one) => profilesOf(one).start(kind));
  }

  /**
   * Ends the profiles.
   * @returns the profile of each process
   * @throws CapacityError or SourceAbsentError if a process cannot be profiled
   */
  async takeProfiles(): Promise<V8Profile[]> {
    return this.#each(await this.#all(), (one) => profilesOf(one).take());
  }

  /** Closes all inspectors that this run has opened. Idempotent; never rejects. */
  async close(): Promise<void> {
    this.#isClosing = true;
    const all = [...this.#known.values()];
    await Promise.all(all.map((one) => one.close()));
    await this.#queue.catch(() => {});
    for (const { profiles } of all) await profiles?.end();
  }

  async #each<T>(all: InspectedProcess[], work: (one: InspectedProcess) => Promise<T>): Promise<T[]> {
    const done: T[] = [];
    for (const one of all) done.push(await this.#enqueue(() => work(one)));
    return done;
  }

  #enqueue<T>(work: () => Promise<T>): Promise<T> {
    const next = this.#queue.then(() => {
      if (this.#isClosing) throw new SourceAbsentError('gone', 'the run has ended');
      return work();
    });
    this.#queue = next.catch(() => {});
    return next;
  }

  /**
   * Returns the URLs of the pprof pages that Go processes serve. Some Go processes, such as `go run` and helpers, serve
   * no pages.
   */
  async #pprofOf(pids: number[]): Promise<string[]> {
    const go = pids.filter((pid) => runtimeOfProcess(pid) === 'go');
    const urls = await Promise.all(go.map((pid) => getOrAdd(this.#pprof, pid, () => findPprof(pid))));
    return urls.filter((url) => url !== undefined);
  }

  async #all(): Promise<InspectedProcess[]> {
    const { pids, urls = [] } = this.#sources;
    const found = (await pids?.()) ?? [];
    const readable = withoutPrimaries(found.filter((pid) => READABLE.includes(runtimeOfProcess(pid))));
    const targets = readable.length > 0 ? readable : await this.#pprofOf(found);
    this.#current = [...(targets.length > 0 ? targets : mostTelling(found)), ...urls].map((target) =>
      getOrAdd(this.#known, target, () => inspected(target)),
    );
    return this.#current;
  }
}

/**
 * Returns whether `inspect: true` can probably read the process. Sends no signal. Requests the pprof page from the
 * ports of a Go process.
 */
export async function isInspectable(pid: number): Promise<boolean> {
  const runtime = runtimeOfProcess(pid);
  if (runtime === 'jvm') return mayAttachToJvm(pid);
  if (runtime === 'go') return (await findPprof(pid)) !== undefined;
  return tryOrUndefined(() => requireInspectable(pid)) !== undefined;
}

/** Returns the process whose error message is most useful, for example the server and not the shell that started it. */
function mostTelling(pids: number[]): number[] {
  return pids
    .toSorted((a, b) => Number(runtimeOfProcess(a) === 'other') - Number(runtimeOfProcess(b) === 'other'))
    .slice(0, 1);
}

/**
 * Creates the reader of one process.
 * @param target process id, or a URL of `InspectorSources`
 */
function inspected(target: number | string): InspectedProcess {
  if (typeof target === 'number')
    return runtimeOfProcess(target) === 'jvm' ? new JvmProcess(target) : new NodeProcess(target);
  const url = new URL(target);
  return isGoUrl(url) ? new GoServer(url) : new NodeProcess(url);
}

function profilesOf({ name, profiles }: InspectedProcess) {
  if (profiles) return profiles;
  throw new SourceAbsentError('unsupported', `${name} cannot be profiled: only Node and Deno can`);
}
