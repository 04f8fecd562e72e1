/** Follows all layers: one row a second for the time series, full readings and CPU times on request. */
import { setTimeout as sleep } from 'node:timers/promises';
import { CpuTime } from './cpu-time.ts';
import { type CpuReading, readKernel, readSwap, type SwapReading } from './kernel.ts';
import { LAYERS, type Layer, type LayerPids, layerMemory } from './layers.ts';
import { type ProcessReading, readProcesses } from './proc.ts';
import { type ReadingSources, takeReading } from './reading.ts';

export interface SamplerSources extends ReadingSources {
  /** Asked at every sample, since workers are restarted and fleet processes start late. */
  pids(): LayerPids | Promise<LayerPids>;
  /** Connected now. */
  connections(): number;
  /** Default 1000. */
  intervalMs?: number;
}

export interface LayerSample {
  rssBytes?: number;
  /** Not in every row: see `PSS_SHARE`. */
  pssBytes?: number;
  /** Since the row before; 100 is one core. Not in the first row. */
  cpuPercent?: number;
}

/** Layers that are not on this machine are missing. */
export type SampleRow = {
  /** Seconds since the start. */
  t: number;
  connections: number;
  /** The whole machine; 100 is all its cores. */
  system?: { usedBytes?: number; cpuPercent?: number };
  redisServer?: { usedMemoryBytes: number; outputBufferBytes: number };
} & Partial<Record<Layer, LayerSample>>;

export interface SamplerHealth {
  intervalMs: number;
  /** Rows. */
  taken: number;
  /** Points of the schedule without a row. */
  missed: number;
  /** The longest time between two rows. */
  longestGapMs: number;
  /** Readings that a source could not give, by source: `processes`, `redis`, or `row` for a whole row. */
  failures: Record<string, number>;
  /** Time that the rows took, waiting for the kernel included: no less than the CPU they cost. */
  busyMs: number;
  /** The same as a share of the time since the start. */
  busyPercent: number;
  /** Why the last failed row failed. */
  lastFailure?: string;
}

/** Reading PSS may take this share of the time: the bigger the processes, the less often it comes. */
const PSS_SHARE = 0.002;

export class Sampler {
  readonly samples: SampleRow[] = [];
  readonly #sources: SamplerSources;
  readonly #intervalMs: number;
  readonly #cpu = Object.fromEntries(LAYERS.map((layer) => [layer, new CpuTime()])) as Record<Layer, CpuTime>;
  readonly #stop = new AbortController();
  readonly #health = { missed: 0, longestGapMs: 0, busyMs: 0, lastFailure: undefined as string | undefined };
  readonly #failures = { processes: 0, row: 0 };
  #swapAtStart: SwapReading | undefined;
  #startMs = 0;
  #running: Promise<void> | undefined;
  #before: CpuPoint | undefined;
  #pssDueMs = 0;
  #absent: Record<string, string> = {};

  /** The readers among the sources stay the caller's to close. */
  constructor(sources: SamplerSources) {
    this.#sources = sources;
    this.#intervalMs = sources.intervalMs ?? 1000;
  }

  /** Begins the time series, with its first row now. */
  start(): void {
    this.#startMs = performance.now();
    this.#swapAtStart = readSwap();
    this.#running ??= this.#run();
  }

  /** Time of the series: since `start`. */
  seconds(): number {
    return Math.round(performance.now() - this.#startMs) / 1000;
  }

  /** All layers now, in bytes; the PSS of big processes takes some ms. Never throws. */
  async reading(): Promise<Record<string, number>> {
    const { bytes, absent } = await takeReading(await this.#pids(), this.#sources);
    this.#absent = absent;
    return bytes;
  }

  /** What the last `reading()` could not tell, and why. */
  absent(): Record<string, string> {
    return { ...this.#absent };
  }

  /**
   * CPU time used so far in microseconds, of each layer that has been seen, in steps of 10 ms; and of the whole machine
   * as `system`. Only differences between two calls mean something.
   */
  async cpu(): Promise<Record<string, number>> {
    await this.#readProcesses(await this.#pids(), false);
    const system = readKernel(['cpu']).cpu;
    return { ...this.#cpuUs(), ...(system && { system: system.busyUs }) };
  }

  health(): SamplerHealth {
    const elapsedMs = performance.now() - this.#startMs;
    const failures = { ...this.#failures, redis: this.#sources.redis?.failures ?? 0 };
    return {
      intervalMs: this.#intervalMs,
      taken: this.samples.length,
      ...this.#health,
      failures: Object.fromEntries(Object.entries(failures).filter(([, count]) => count > 0)),
      busyPercent: (100 * this.#health.busyMs) / elapsedMs,
    };
  }

  /** What the machine has moved to and from swap since the start; undefined where the kernel does not tell. */
  swapped(): SwapReading | undefined {
    const [before, now] = [this.#swapAtStart, readSwap()];
    return before && now && { inBytes: now.inBytes - before.inBytes, outBytes: now.outBytes - before.outBytes };
  }

  /** Resolves when the row under way is done. Idempotent. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  /** Due times are multiples of the interval since the start: a late row does not shift those after it. */
  async #run(): Promise<void> {
    const { signal } = this.#stop;
    let index = 0;
    while (!signal.aborted) {
      await this.#sample();
      const next = Math.max(index + 1, Math.ceil((performance.now() - this.#startMs) / this.#intervalMs));
      this.#health.missed += next - index - 1;
      index = next;
      const waitMs = this.#startMs + index * this.#intervalMs - performance.now();
      await sleep(Math.max(0, waitMs), undefined, { signal }).catch(() => {});
    }
  }

  async #sample(): Promise<void> {
    const beganMs = performance.now();
    try {
      this.samples.push(await this.#row());
    } catch (error) {
      this.#health.missed++;
      this.#failures.row++;
      this.#health.lastFailure = (error as Error).message;
    }
    this.#health.busyMs += performance.now() - beganMs;
  }

  async #row(): Promise<SampleRow> {
    const pids = await this.#pids();
    const atMs = performance.now();
    const row: SampleRow = { t: Math.round(atMs - this.#startMs) / 1000, connections: this.#sources.connections() };
    const pss = atMs >= this.#pssDueMs;
    const [processes, redis] = await Promise.all([this.#readProcesses(pids, pss), this.#sources.redis?.read()]);
    if (pss) this.#pssDueMs = atMs + (performance.now() - atMs) / PSS_SHARE;

    const { memory, cpu: system } = readKernel(['memory', 'cpu']);
    const before = this.#before;
    const now = { atMs, cpuUs: this.#cpuUs(), system };
    this.#before = now;
    if (before) this.#health.longestGapMs = Math.max(this.#health.longestGapMs, atMs - before.atMs);

    for (const layer of LAYERS) {
      if ((pids[layer]?.length ?? 0) === 0) continue;
      const { known, ...bytes } = layerMemory(pids[layer], processes);
      row[layer] = { ...(known && bytes), ...cpuPercent(layer, before, now) };
    }
    row.system = {
      ...(memory && { usedBytes: memory.totalBytes - memory.availableBytes }),
      ...systemPercent(before, now),
    };
    if (redis) row.redisServer = { usedMemoryBytes: redis.usedMemoryBytes, outputBufferBytes: redis.pubSubOutputBytes };
    return row;
  }

  async #pids(): Promise<LayerPids> {
    try {
      return await this.#sources.pids();
    } catch (error) {
      this.#failures.processes++;
      this.#health.lastFailure = (error as Error).message;
      return {};
    }
  }

  async #readProcesses(pids: LayerPids, pss: boolean): Promise<Map<number, ProcessReading>> {
    const processes = await readProcesses(Object.values(pids).flat(), { pss });
    for (const layer of LAYERS) this.#cpu[layer].add(pids[layer] ?? [], processes);
    return processes;
  }

  #cpuUs(): Partial<Record<Layer, number>> {
    const seen = LAYERS.filter((layer) => this.#cpu[layer].totalUs > 0);
    return Object.fromEntries(seen.map((layer) => [layer, this.#cpu[layer].totalUs]));
  }
}

interface CpuPoint {
  atMs: number;
  cpuUs: Partial<Record<Layer, number>>;
  system: CpuReading | undefined;
}

/** Nothing for a layer seen for the first time: what it used before belongs to no row. */
function cpuPercent(layer: Layer, before: CpuPoint | undefined, now: CpuPoint): { cpuPercent?: number } {
  const [beforeUs, nowUs] = [before?.cpuUs[layer], now.cpuUs[layer]];
  if (before === undefined || beforeUs === undefined || nowUs === undefined) return {};
  return { cpuPercent: percent(nowUs - beforeUs, (now.atMs - before.atMs) * 1000) };
}

function systemPercent(before: CpuPoint | undefined, now: CpuPoint): { cpuPercent?: number } {
  if (!before?.system || !now.system) return {};
  const busyUs = now.system.busyUs - before.system.busyUs;
  const totalUs = busyUs + now.system.idleUs - before.system.idleUs;
  return totalUs > 0 ? { cpuPercent: percent(busyUs, totalUs) } : {};
}

function percent(part: number, whole: number): number {
  return Math.round((1000 * part) / whole) / 10;
}
