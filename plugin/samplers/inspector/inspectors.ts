/**
 * Memory of servers that contain nothing of ours: of Node and Deno through their inspectors, of JVMs by their attach protocol. An
 * inspector is open only while it is read, and one at a time, since processes of one machine share a port.
 */
import { z } from 'zod';
import { getOrAdd } from '../../../protocol/base/get-or-add.ts';
import { CapacityError, describeError } from '../../../protocol/codes/errors.ts';
import { LARGEST_FIGURE } from '../../../protocol/link/bounded-schemas.ts';
import { MODULES, type ProfileAction, profileProcess } from '../../../protocol/profiles/profile-process.ts';
import {
  PROFILE_LIMITS,
  type Profile,
  type ProfileKind,
  takenSchema,
} from '../../../protocol/profiles/profile-schema.ts';
import { Absent } from '../absence.ts';
import type { InspectorSession } from './inspector-session.ts';
import { isJvm, readJvm } from './jvm.ts';
import { type Inspectable, isOtherProgram, requireInspectable, withoutPrimaries } from './may-open.ts';
import { attach, closeLate, type OpenInspector, open } from './open-inspector.ts';

/** A full garbage collection of a heap of some GB takes seconds. */
const GC_TIMEOUT_MS = 60_000;
/** Finalizers of the first collection free memory that only the second one counts. */
const COLLECTIONS = 2;
/** Time between a collection and the reading that it is for. */
const COLLECTED_AGE_MS = 2000;

const bytes = z.number().nonnegative().lte(LARGEST_FIGURE);
const memorySchema = z.object({ rss: bytes, heapUsed: bytes, external: bytes });

export interface InspectedMemory {
  /** A JVM does not count memory outside its heap: `externalBytes` is 0. */
  isJvm: boolean;
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
  readonly #known = new Map<number | string, Inspected>();
  /** Those of the last request. */
  #current: Inspected[] = [];
  /** Results of the last collection, for the reading that follows it. */
  #collected: { memory: InspectedMemory[]; atMs: number } | undefined;
  #queue: Promise<unknown> = Promise.resolve();
  #isClosing = false;
  /** Longest stop of a process by one collection. */
  longestPauseMs = 0;

  private constructor(sources: InspectorSources) {
    this.#sources = sources;
  }

  /** Processes at the last request. */
  get size(): number {
    return this.#current.length;
  }

  /** Whether a process of the last request is a JVM. */
  get hasJvm(): boolean {
    return this.#current.some((one) => one.isJvm);
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
    if (!read.includes(undefined)) this.#collected = { memory: read as InspectedMemory[], atMs: performance.now() };
  }

  /** Counts of the collections so far, without asking the processes. */
  async stats(): Promise<{ worker: string; collections: number }[]> {
    return this.#current.map(({ name, collections }) => ({ worker: name, collections }));
  }

  /**
   * Memory of each process: as it was directly after the collection if `gc` was called right before, and now otherwise.
   * @throws Absent if one of them cannot be asked
   */
  async memory(): Promise<InspectedMemory[]> {
    const collected = this.#collected;
    this.#collected = undefined;
    if (collected && performance.now() - collected.atMs < COLLECTED_AGE_MS) return collected.memory;
    return this.#each(await this.#all(), (one) => one.read(false));
  }

  /** From now on, the processes note where they allocate or use CPU. @throws CapacityError or Absent if one of them cannot */
  async startProfiles(kind: ProfileKind): Promise<void> {
    await this.#each(await this.#all(), (one) => one.startProfile(kind));
  }

  /** Ends the profiles. @returns that of each process @throws as above */
  async takeProfiles(): Promise<Profile[]> {
    return this.#each(await this.#all(), (one) => one.takeProfile());
  }

  /** Closes what this run has opened. Idempotent; never rejects. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await Promise.all([...this.#known.values()].map((one) => one.close()));
    await this.#queue.catch(() => {});
    for (const one of this.#known.values()) await one.endProfile();
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
    const runtimes = withoutPrimaries(found.filter((pid) => !isOtherProgram(pid) || isJvm(pid)));
    // The first one says why none of them can be inspected.
    const targets = [...(runtimes.length > 0 ? runtimes : found.slice(0, 1)), ...urls];
    this.#current = targets.map((target) => getOrAdd(this.#known, target, () => new Inspected(target)));
    return this.#current;
  }
}

/** One process. */
class Inspected {
  readonly name: string;
  collections = 0;
  /** Of the last reading. */
  pauseMs = 0;
  readonly isJvm: boolean;
  readonly #target: number | string;
  #opening: Promise<OpenInspector> | undefined;
  /** It got the signal, and has not been closed since. */
  #signalled: Inspectable | undefined;
  /** Kind of the profile that is running. */
  #profiled: ProfileKind | undefined;

  /** @param target process id, or the URL of an inspector that is open */
  constructor(target: number | string) {
    this.#target = target;
    this.isJvm = typeof target === 'number' && isJvm(target);
    this.name = typeof target === 'number' ? `process ${target}` : new URL(target).host;
  }

  /** @throws CapacityError or Absent; its inspector is closed by then */
  async read(collect: boolean): Promise<InspectedMemory> {
    this.pauseMs = 0;
    if (typeof this.#target === 'number' && this.isJvm) {
      const { pauseMs, ...memory } = await readJvm(this.#target, collect);
      this.pauseMs = pauseMs;
      if (collect) this.collections++;
      return { isJvm: true, ...memory, externalBytes: 0 };
    }
    return this.#inspect(async (session) => {
      for (let count = 0; collect && count < COLLECTIONS; count++) {
        const beganMs = performance.now();
        await session.request('HeapProfiler.collectGarbage', {}, GC_TIMEOUT_MS);
        this.pauseMs = Math.max(this.pauseMs, performance.now() - beganMs);
      }
      const { value } = await session.evaluate('process.memoryUsage()');
      const { rss, heapUsed, external } = memorySchema.parse(value);
      if (collect) this.collections++;
      return { isJvm: false, rssBytes: rss, heapUsedBytes: heapUsed, externalBytes: external };
    });
  }

  /** @throws CapacityError or Absent */
  async startProfile(kind: ProfileKind): Promise<void> {
    if (this.isJvm) throw new Absent('unsupported', `${this.name} is a JVM: only Node can be profiled`);
    this.#profiled = kind;
    await this.#profile('start', kind);
  }

  /** @throws CapacityError or Absent */
  async takeProfile(): Promise<Profile> {
    const { profile } = await this.#profile('take', this.#profiled);
    this.#profiled = undefined;
    if (!profile) throw new Absent('unsupported', `${this.name} has no profile`);
    return profile;
  }

  /** Idempotent; never rejects. */
  async endProfile(): Promise<void> {
    if (!this.#profiled) return;
    this.#profiled = undefined;
    await this.#profile('end').catch(() => {});
  }

  #profile(action: ProfileAction, kind: ProfileKind = 'heap') {
    const call = `(${profileProcess})(${MODULES}, ${JSON.stringify(PROFILE_LIMITS)}, '${action}', '${kind}')`;
    return this.#inspect(async (session) => {
      const { value } = await session.evaluate(`JSON.stringify(${call})`, { timeoutMs: GC_TIMEOUT_MS });
      const { failure, ...found } = takenSchema.parse(JSON.parse(String(value)));
      if (failure !== undefined) throw new Absent('unsupported', `${this.name} cannot be profiled: ${failure}`);
      return found;
    });
  }

  /** @throws CapacityError or Absent; its inspector is closed by then */
  async #inspect<T>(work: (session: InspectorSession) => Promise<T>): Promise<T> {
    this.#opening = this.#open();
    try {
      return await work((await this.#opening).session);
    } catch (error) {
      if (error instanceof CapacityError || error instanceof Absent) throw error;
      throw new Absent('unsupported', `the inspector of ${this.name}: ${describeError(error)}`);
    } finally {
      await this.close();
    }
  }

  /** Idempotent; never rejects. */
  async close(): Promise<void> {
    const opened = await this.#opening?.catch(() => undefined);
    await opened?.close();
    if (opened) this.#signalled = undefined;
    else if (this.#signalled) await closeLate(this.#signalled);
  }

  async #open(): Promise<OpenInspector> {
    const target = this.#target;
    if (typeof target === 'string') return attach(new URL(target));
    const process = requireInspectable(target);
    return open(process, () => {
      this.#signalled = process;
    });
  }
}
