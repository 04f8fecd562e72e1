/** Statistics of the worker's process: memory, CPU, event loop. Also forces garbage collections. */
import {
  constants,
  type EventLoopUtilization,
  monitorEventLoopDelay,
  type PerformanceEntry,
  PerformanceObserver,
  performance,
} from 'node:perf_hooks';
import v8 from 'node:v8';
import vm from 'node:vm';
import type { WorkerStats } from '../../protocol/wire/events.ts';

/**
 * Period of the monitor's timer. It is long, so that the timer does not noticeably increase the CPU of an idle worker.
 */
const RESOLUTION_MS = 20;

type ProcessStats = Pick<
  WorkerStats,
  'pid' | 'uptimeSeconds' | 'rssBytes' | 'heapUsedBytes' | 'externalBytes' | 'cpuUserUs' | 'cpuSystemUs'
>;

/** Returns memory in bytes, and CPU time since the process started in microseconds. */
export function processStats(): ProcessStats {
  const memory = process.memoryUsage();
  const cpu = process.cpuUsage();
  return {
    pid: process.pid,
    uptimeSeconds: process.uptime(),
    rssBytes: memory.rss,
    heapUsedBytes: memory.heapUsed,
    externalBytes: memory.external,
    cpuUserUs: cpu.user,
    cpuSystemUs: cpu.system,
  };
}

/** Monitors the event loop. A window lasts from one `next()` to the following `next()`. */
export class EventLoopWindow {
  readonly #delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  #since: EventLoopUtilization = performance.eventLoopUtilization();

  constructor() {
    this.#delay.enable();
  }

  read(): WorkerStats['eventLoop'] {
    return {
      utilization: performance.eventLoopUtilization(this.#since).utilization,
      delayP50Ms: delayMs(this.#delay.percentile(50)),
      delayP99Ms: delayMs(this.#delay.percentile(99)),
      delayMaxMs: delayMs(this.#delay.max),
    };
  }

  /** Returns the current window, and starts the next one. */
  next(): WorkerStats['eventLoop'] {
    const window = this.read();
    this.#delay.reset();
    this.#since = performance.eventLoopUtilization();
    return window;
  }

  close(): void {
    this.#delay.disable();
  }
}

/** Node records the whole period of the timer. The delay is the part that exceeds `RESOLUTION_MS`. */
function delayMs(recordedNs: number): number {
  return Math.max(0, recordedNs / 1e6 - RESOLUTION_MS);
}

/** Counts full garbage collections that V8 reports. The count shows whether a `gc` request really collected garbage. */
export class GarbageCollectionCount {
  #count = 0;
  readonly #observer = new PerformanceObserver((list) => this.#add(list.getEntries()));

  constructor() {
    this.#observer.observe({ entryTypes: ['gc'] });
  }

  /** Returns the count since the start. A collection is counted from the next turn of the event loop. */
  read(): number {
    this.#add(this.#observer.takeRecords());
    return this.#count;
  }

  close(): void {
    this.#observer.disconnect();
  }

  /** Filters collections by kind only, because V8 does not mark the collection below as forced. */
  #add(entries: PerformanceEntry[]): void {
    const kinds = entries.map((entry) => (entry as { detail?: { kind?: number } }).detail?.kind);
    this.#count += kinds.filter((kind) => kind === constants.NODE_PERFORMANCE_GC_MAJOR).length;
  }
}

interface CollectOptions {
  type: 'major';
  execution: 'sync';
  readonly flavor: 'last-resort';
}
let collect: ((options?: CollectOptions) => void) | undefined;
let readsFlavor = false;

/**
 * Options of a collection that also returns empty pages to the system. Without it, RSS shows how far V8 grew in the
 * past instead of what it needs.
 */
const LAST_RESORT: CollectOptions = {
  type: 'major',
  execution: 'sync',
  get flavor() {
    readsFlavor = true;
    return 'last-resort' as const;
  },
};

/**
 * Runs a full garbage collection. It does not require `--expose-gc`.
 * @returns its duration
 */
export function collectGarbage(): { durationMs: number } {
  if (!collect) {
    v8.setFlagsFromString('--expose-gc');
    collect = vm.runInNewContext('gc') as NonNullable<typeof collect>;
  }
  const startMs = performance.now();
  collect(LAST_RESORT);
  if (!readsFlavor) {
    // Node 18 and 20 ignore the options, and collect only the young generation here. A second collection frees memory
    // held by finalizers.
    collect();
    collect();
  }
  return { durationMs: performance.now() - startMs };
}
