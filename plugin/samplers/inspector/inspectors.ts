/**
 * Memory of Node and Deno servers that contain nothing of ours, through their inspectors: each is open only while it is read, and one
 * at a time, since processes of one machine share a port.
 */
import { z } from 'zod';
import { CapacityError, describeError } from '../../../protocol/errors.ts';
import { getOrAdd } from '../../../protocol/helpers/get-or-add.ts';
import { LARGEST_FIGURE } from '../../../protocol/link/bounds.ts';
import { Absent } from '../absence.ts';
import { type Inspectable, isRuntime, requireInspectable } from './may-open.ts';
import { attach, closeLate, type OpenInspector, open } from './open.ts';

/** A full garbage collection of a heap of some GB takes seconds. */
const GC_TIMEOUT_MS = 60_000;
/** Finalizers of the first collection free memory that only the second one counts. */
const COLLECTIONS = 2;

const bytes = z.number().nonnegative().lte(LARGEST_FIGURE);
const memorySchema = z.object({ rss: bytes, heapUsed: bytes, external: bytes });

export interface InspectedMemory {
  rssBytes: number;
  heapUsedBytes: number;
  externalBytes: number;
}

export interface InspectorSources {
  /** Processes on this machine; those of other programs than Node and Deno are left out. */
  pids?: () => Promise<number[]>;
  /** `http:` or `ws:` URLs of inspectors that are open. */
  urls?: string[];
}

export class Inspectors {
  readonly #sources: InspectorSources;
  readonly #byKey = new Map<string, Inspected>();
  /** Results of the last collection, for the reading that follows it. */
  #collected: InspectedMemory[] | undefined;
  #queue: Promise<unknown> = Promise.resolve();
  #isClosing = false;
  /** Longest stop of a process by one collection. */
  longestPauseMs = 0;

  private constructor(sources: InspectorSources) {
    this.#sources = sources;
  }

  /** Reads each process once. @throws CapacityError of the first that cannot be inspected, or INSPECTOR_UNSUITABLE */
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

  /** Forces a full collection in every process. One that cannot be asked now is without it, as `stats` shows. */
  async gc(): Promise<void> {
    this.#collected = undefined;
    const all = await this.#all();
    const read = await this.#each(all, (one) => one.read(true).catch(() => undefined));
    for (const { pauseMs } of all) this.longestPauseMs = Math.max(this.longestPauseMs, pauseMs);
    if (!read.includes(undefined)) this.#collected = read as InspectedMemory[];
  }

  /** Counts of the collections so far, without asking the processes. */
  async stats(): Promise<{ worker: string; collections: number }[]> {
    return [...this.#byKey.values()].map(({ name, collections }) => ({ worker: name, collections }));
  }

  /**
   * Memory of each process: as it was directly after the collection if `gc` was called right before, and now otherwise.
   * @throws Absent if one of them cannot be asked
   */
  async memory(): Promise<InspectedMemory[]> {
    const collected = this.#collected;
    this.#collected = undefined;
    return collected ?? this.#each(await this.#all(), (one) => one.read(false));
  }

  /** Closes what this run has opened. Idempotent; never rejects. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await Promise.all([...this.#byKey.values()].map((one) => one.close()));
    await this.#queue.catch(() => {});
  }

  async #each<T>(all: Inspected[], work: (one: Inspected) => Promise<T>): Promise<T[]> {
    const done: T[] = [];
    for (const one of all) done.push(await this.#enqueue(() => work(one)));
    return done;
  }

  #enqueue<T>(work: () => Promise<T>): Promise<T> {
    const next = this.#queue.then(() => {
      if (this.#isClosing) throw new Absent('gone', 'the run has ended');
      return work();
    });
    this.#queue = next.catch(() => {});
    return next;
  }

  async #all(): Promise<Inspected[]> {
    const { pids, urls = [] } = this.#sources;
    const found = (await pids?.()) ?? [];
    const runtimes = found.filter(isRuntime);
    const [first] = found;
    // It names why none of them can be inspected.
    if (pids && runtimes.length === 0 && first !== undefined) requireInspectable(first);
    const targets = [...runtimes.map((pid) => requireInspectable(pid)), ...urls.map((url) => new URL(url))];
    const keys = targets.map((target) => (target instanceof URL ? target.href : `${target.pid} ${target.startedAtUs}`));
    return targets.map((target, index) => getOrAdd(this.#byKey, keys[index] as string, () => new Inspected(target)));
  }
}

/** One process. */
class Inspected {
  readonly name: string;
  collections = 0;
  /** Of the last reading. */
  pauseMs = 0;
  readonly #target: Inspectable | URL;
  #opening: Promise<OpenInspector> | undefined;
  #wasSignalled = false;

  constructor(target: Inspectable | URL) {
    this.#target = target;
    this.name = target instanceof URL ? target.host : `process ${target.pid}`;
  }

  /** @throws CapacityError or Absent; its inspector is closed by then */
  async read(collect: boolean): Promise<InspectedMemory> {
    this.pauseMs = 0;
    this.#opening = this.#open();
    try {
      const { session } = await this.#opening;
      for (let count = 0; collect && count < COLLECTIONS; count++) {
        const beganMs = performance.now();
        await session.request('HeapProfiler.collectGarbage', {}, GC_TIMEOUT_MS);
        this.pauseMs = Math.max(this.pauseMs, performance.now() - beganMs);
      }
      const { value } = await session.evaluate('process.memoryUsage()');
      const { rss, heapUsed, external } = memorySchema.parse(value);
      if (collect) this.collections++;
      return { rssBytes: rss, heapUsedBytes: heapUsed, externalBytes: external };
    } catch (error) {
      if (error instanceof CapacityError || error instanceof Absent) throw error;
      throw new Absent('unsupported', `the inspector of ${this.name} gave no memory: ${describeError(error)}`);
    } finally {
      await this.close();
    }
  }

  /** Idempotent; never rejects. */
  async close(): Promise<void> {
    const opened = await this.#opening?.catch(() => undefined);
    await opened?.close();
    if (!opened && this.#wasSignalled && !(this.#target instanceof URL)) await closeLate(this.#target);
    if (opened) this.#wasSignalled = false;
  }

  #open(): Promise<OpenInspector> {
    const target = this.#target;
    if (target instanceof URL) return attach(target);
    return open(target, () => {
      this.#wasSignalled = true;
    });
  }
}
