/** Reads memory and profiles of one Node or Deno process through its inspector, which is open only during a reading. */
import { z } from 'zod';
import { getOrAdd } from '../../../protocol/base/get-or-add.ts';
import { allocatedBytes, compiledBytes } from '../../../protocol/base/machine/own-heaps.ts';
import { CapacityError, describeError } from '../../../protocol/codes/errors.ts';
import {
  PROFILE_MODULES_SOURCE,
  type ProfileAction,
  profileProcess,
} from '../../../protocol/profiles/profile-process.ts';
import {
  PROFILE_LIMITS,
  type ProfileKind,
  profileReplySchema,
  type V8Profile,
} from '../../../protocol/profiles/profile-schema.ts';
import { SourceAbsentError } from '../absence.ts';
import {
  bytesSchema,
  COLLECTIONS_PER_READING,
  GC_TIMEOUT_MS,
  type InspectedMemory,
  type InspectedProcess,
  type InspectedProfiles,
} from './inspected.ts';
import type { InspectorSession, ThreadSession } from './inspector-session.ts';
import { type InspectableProcess, requireInspectable } from './may-open.ts';
import { attachInspector, closeLateInspector, type OpenInspector, openProcessInspector } from './open-inspector.ts';

const memorySchema = z.object({
  rss: bytesSchema,
  heapUsed: bytesSchema,
  external: bytesSchema,
  codeBytes: bytesSchema.optional(),
  mallocBytes: bytesSchema.optional(),
});
/** Code to evaluate in a thread that serves connections. A count that its runtime does not support is left out. */
const THREAD_MEMORY = memorySource(`codeBytes = (${compiledBytes})(${PROFILE_MODULES_SOURCE}.v8)`);
/** Code to evaluate in the main thread. `mallocBytes` is undefined if the process has no /proc. */
const MEMORY = memorySource(
  `codeBytes = (${compiledBytes})(${PROFILE_MODULES_SOURCE}.v8)`,
  `mallocBytes = (${allocatedBytes})(${PROFILE_MODULES_SOURCE}.fs)`,
);

/**
 * Timeout of a request to a thread in milliseconds. A thread that serves connections answers sooner; a thread that
 * waits with `Atomics.wait` never answers.
 */
const THREAD_TIMEOUT_MS = 2000;
/**
 * Number of memory readings after which V8 has compiled their code, which takes 0.2 MB in the measured process. If
 * readings are slow, fewer are made.
 */
const WARM_UP = { readings: 20, longestMs: 1000 };

export class NodeProcess implements InspectedProcess, InspectedProfiles {
  readonly name: string;
  readonly runtime = 'v8';
  readonly profiles = this;
  readonly #target: number | URL;
  #opening: Promise<OpenInspector> | undefined;
  #isWarm = false;
  /** Whether each thread serves connections, by the id of the thread. */
  readonly #threads = new Map<string, Promise<boolean>>();
  /** The process to which the run sent the signal; undefined again after its inspector is closed. */
  #signalled: InspectableProcess | undefined;
  /** Kind of the profile that the process is recording. */
  #profiled: ProfileKind | undefined;

  /** @param target process id, or the URL of an open inspector */
  constructor(target: number | URL) {
    this.#target = target;
    this.name = typeof target === 'number' ? `process ${target}` : target.host;
  }

  async read(collect: boolean): Promise<InspectedMemory> {
    let pauseMs = 0;
    const pausing = async <T>(request: Promise<T>): Promise<T> => {
      const beganMs = performance.now();
      const answer = await request;
      pauseMs = Math.max(pauseMs, performance.now() - beganMs);
      return answer;
    };
    return this.#inspect(async (session) => {
      const endMs = performance.now() + WARM_UP.longestMs;
      for (let count = 0; !this.#isWarm && count < WARM_UP.readings && performance.now() < endMs; count++)
        await session.evaluate(MEMORY);
      this.#isWarm = true;
      const threads = await this.#servingThreads(session);
      for (const one of collect ? [session, ...threads] : [])
        for (let count = 0; count < COLLECTIONS_PER_READING; count++)
          await pausing(one.request('HeapProfiler.collectGarbage', {}, GC_TIMEOUT_MS));
      const { value } = await pausing(session.evaluate(MEMORY));
      const { rss, mallocBytes, ...main } = memorySchema.parse(value);
      const heaps: Omit<z.infer<typeof memorySchema>, 'rss'>[] = [main];
      for (const one of threads) heaps.push(memorySchema.parse((await one.evaluate(THREAD_MEMORY)).value));
      const [heapUsed, external] = [sum(heaps, 'heapUsed'), sum(heaps, 'external')];
      return {
        // The `malloc` figure is left out if there are further threads, because each thread allocates in its own heap
        // of `malloc`.
        ...(mallocBytes !== undefined && threads.length === 0 && { mallocBytes }),
        ...(heaps.every(({ codeBytes }) => codeBytes !== undefined) && {
          codeBytes: heaps.reduce((total, { codeBytes = 0 }) => total + codeBytes, 0),
        }),
        keptBytes: heapUsed + external,
        heapUsedBytes: heapUsed,
        externalBytes: external,
        rssBytes: rss,
        pauseMs,
      };
    });
  }

  /** Finds the threads that serve connections, with one request to each thread. */
  async #servingThreads(session: InspectorSession): Promise<ThreadSession[]> {
    const all = await session.threads();
    const serve = await Promise.all(all.map((one) => getOrAdd(this.#threads, one.threadId, () => serves(one))));
    return all.filter((_, index) => serve[index]);
  }

  async start(kind: ProfileKind): Promise<void> {
    this.#profiled = kind;
    await this.#profile('start', kind);
  }

  async take(): Promise<V8Profile> {
    const { profile } = await this.#profile('take', this.#profiled);
    this.#profiled = undefined;
    if (!profile) throw new SourceAbsentError('unsupported', `${this.name} has no profile`);
    return profile;
  }

  async end(): Promise<void> {
    if (!this.#profiled) return;
    this.#profiled = undefined;
    await this.#profile('end').catch(() => {});
  }

  #profile(action: ProfileAction, kind: ProfileKind = 'heap') {
    const call = `(${profileProcess})(${PROFILE_MODULES_SOURCE}, ${JSON.stringify(PROFILE_LIMITS)}, '${action}', '${kind}')`;
    return this.#inspect(async (session) => {
      const { value } = await session.evaluate(`JSON.stringify(${call})`, { timeoutMs: GC_TIMEOUT_MS });
      const { failure, ...found } = profileReplySchema.parse(JSON.parse(String(value)));
      if (failure !== undefined)
        throw new SourceAbsentError('unsupported', `${this.name} cannot be profiled: ${failure}`);
      return found;
    });
  }

  /**
   * Runs `work` while the inspector is open.
   * @throws CapacityError or SourceAbsentError, after the inspector is closed
   */
  async #inspect<T>(work: (session: InspectorSession) => Promise<T>): Promise<T> {
    this.#opening = this.#open();
    try {
      return await work((await this.#opening).session);
    } catch (error) {
      if (error instanceof CapacityError || error instanceof SourceAbsentError) throw error;
      throw new SourceAbsentError('unsupported', `the inspector of ${this.name}: ${describeError(error)}`);
    } finally {
      await this.close();
    }
  }

  async close(): Promise<void> {
    const opened = await this.#opening?.catch(() => undefined);
    await opened?.close();
    if (opened) this.#signalled = undefined;
    else if (this.#signalled) await closeLateInspector(this.#signalled);
  }

  async #open(): Promise<OpenInspector> {
    const target = this.#target;
    if (typeof target !== 'number') return attachInspector(target);
    const process = requireInspectable(target);
    return openProcessInspector(process, () => {
      this.#signalled = process;
    });
  }
}

/** @param counts assignments to properties of the result */
function memorySource(...counts: string[]): string {
  const statements = counts.map((count) => `try { memory.${count}; } catch {}`);
  return `(() => { const memory = process.memoryUsage(); ${statements.join(' ')} return memory; })()`;
}

function serves(thread: ThreadSession): Promise<boolean> {
  return thread
    .evaluate(`process.getActiveResourcesInfo().includes('TCPServerWrap')`, { timeoutMs: THREAD_TIMEOUT_MS })
    .then(
      ({ value }) => value === true,
      () => false,
    );
}

function sum<Key extends string>(all: Record<Key, number>[], key: Key): number {
  return all.reduce((total, one) => total + one[key], 0);
}
