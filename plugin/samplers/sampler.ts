/**
 * Samples all layers: one row each second for the time series, and memory readings and CPU times on request. In long
 * runs, rows are merged, so that memory stays bounded.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { BoundedSeries } from '../../protocol/base/bounded-series.ts';
import { getOrAdd } from '../../protocol/base/get-or-add.ts';
import { readSwap, type SwapReading } from '../../protocol/base/machine/kernel.ts';
import type { MachineShares } from '../../protocol/result/machine-schema.ts';
import type { Result } from '../../protocol/result/result.ts';
import { absenceOf } from './absence.ts';
import { TimeLimitError, withTimeLimit } from './late-answers.ts';
import { type CpuPoint, cpuPercent, LayerCpu } from './layer-cpu.ts';
import { LAYERS } from './layers/index.ts';
import type { Layer } from './layers/layer.ts';
import type { MachineWatch } from './machine/cpu-shares.ts';
import { readProcesses } from './processes/proc.ts';
import { type LayerPids, SharedPages } from './processes/process-memory.ts';
import { ProcessSeries } from './processes/process-series.ts';
import type { PagesReading } from './prometheus/page.ts';
import { type FigureReadings, knownValues, readLayerFigure, readLayerSample } from './reading.ts';
import { type LayerSample, mergeRows, type SampleRow } from './sample-row.ts';
import { createSamplerInputs, type FigureReaders, type SamplerInputs } from './sampler-inputs.ts';

export interface SamplerSources extends FigureReaders {
  /**
   * Returns the processes of each layer. Called for every sample, because workers restart and fleet processes may start
   * late.
   */
  pids(): LayerPids | Promise<LayerPids>;
  machine?: Pick<MachineWatch, 'tick'>;
  /** Returns the number of connections that are open now. */
  connections(): number;
  /** Why figures from this machine do not include the deployment; undefined if the deployment runs on this machine. */
  notShared?: string | undefined;
  intervalMs?: number;
  layers?: readonly Layer[];
}

type Pages = NonNullable<FigureReaders['prometheus']>[string];
type SamplerHealth = NonNullable<Result['sampling']>;

/**
 * Maximum share of the run's time that reading PSS may take. If processes are so large that reading takes long, PSS is
 * read less often.
 */
const PSS_SHARE = 0.002;

/** Share of the sample interval within which metrics pages must answer. */
const PAGE_SHARE = 0.9;

/** Maximum number of rows in the time series: the rows of an hour. In a longer run, rows are merged. */
const MAX_ROWS = 3600;

export class Sampler {
  readonly layers: readonly Layer[];
  readonly #series = new BoundedSeries(MAX_ROWS, mergeRows);
  readonly #sources: SamplerSources;
  readonly #intervalMs: number;
  readonly #cpu: LayerCpu;
  readonly #shared = new SharedPages();
  readonly #workers = new ProcessSeries();
  readonly #stop = new AbortController();
  readonly #health = { missed: 0, longestGapMs: 0 };
  readonly #failures = { processes: 0, row: 0, prometheus: 0 };
  /** Requests to metrics pages that are still pending, by layer. */
  readonly #pages = new Map<string, Promise<PagesReading>>();
  #swapAtStart: SwapReading | undefined;
  #startMs = 0;
  #running: Promise<void> | undefined;
  #before: CpuPoint | undefined;
  #pssDueMs = 0;

  /** The readers in `sources` belong to the caller, so the sampler does not close them. */
  constructor(sources: SamplerSources) {
    this.#sources = sources;
    this.#intervalMs = sources.intervalMs ?? 1000;
    this.layers = sources.layers ?? LAYERS;
    this.#cpu = new LayerCpu(this.layers);
  }

  /** The time series so far. In a run of more than an hour, each row is merged from several rows (see `mergeRows`). */
  get samples(): SampleRow[] {
    return this.#series.rows;
  }

  /** Time series of each worker process on this machine. */
  workers(): ReturnType<ProcessSeries['read']> {
    return this.#workers.read();
  }

  /** Starts the time series with a first row. */
  start(): void {
    this.#startMs = performance.now();
    this.#swapAtStart = readSwap();
    this.#running ??= this.#run();
  }

  /** Seconds since the start of the time series. */
  seconds(): number {
    return Math.round(performance.now() - this.#startMs) / 1000;
  }

  /** Reads all memory figures. Reading the PSS of large processes takes some milliseconds. Never rejects. */
  async reading(): Promise<FigureReadings> {
    const { pids, processes } = await this.#readProcesses(true);
    const inputs = createSamplerInputs(pids, processes, this.#sources);
    const readings = await this.#read(
      this.layers.flatMap((layer) => layer.figures.map((figure) => ({ layer, ...figure }))),
      inputs,
    );
    const bytes = knownValues(readings);
    for (const { id, isProcesses } of this.layers) {
      const isElsewhere = isProcesses && (pids[id] ?? []).length === 0;
      if (isElsewhere) this.#shared.noteReported(id, bytes[`${id}Rss`], bytes[`${id}Pss`]);
    }
    return readings;
  }

  /**
   * Returns the current counts of open or stored items in the layers, by id; unknown counts are missing. Never rejects.
   */
  async counts(): Promise<Record<string, number>> {
    const { pids, processes } = await this.#readProcesses(false);
    const all = this.layers.flatMap((layer) => (layer.counts ?? []).map((count) => ({ layer, ...count })));
    return knownValues(await this.#read(all, createSamplerInputs(pids, processes, this.#sources)));
  }

  async #read(all: { id: string; layer: Layer; measure: string }[], inputs: SamplerInputs): Promise<FigureReadings> {
    const { notShared } = this.#sources;
    const readings = all.map(async ({ id, layer, measure }) => {
      const isUnshared = layer.belongsTo === 'machine' && notShared !== undefined;
      const reading = isUnshared ? { absent: absenceOf(notShared) } : await readLayerFigure(layer, measure, inputs);
      return [id, reading] as const;
    });
    return Object.fromEntries(await Promise.all(readings));
  }

  /**
   * Reads the CPU time of each layer in microseconds, in steps of 10 ms; `system` is the whole machine. Only
   * differences between two calls are meaningful.
   */
  async cpu(): Promise<Record<string, number>> {
    const { pids, processes } = await this.#readProcesses(false);
    const uses = await this.#cpu.uses(createSamplerInputs(pids, processes, this.#sources));
    return Object.fromEntries(Object.entries(uses).map(([layer, { busyUs }]) => [layer, busyUs]));
  }

  /** Layers whose CPU time is too low, because some of their processes cannot be read. */
  get incompleteCpu(): ReadonlySet<string> {
    return this.#cpu.incomplete;
  }

  health(): SamplerHealth {
    const { redis, prometheus = {} } = this.#sources;
    const ofMetrics = Object.values(prometheus).reduce(
      (sum, { failures }) => sum + failures,
      this.#failures.prometheus,
    );
    const failures = { ...this.#failures, redis: redis?.failures ?? 0, prometheus: ofMetrics };
    return {
      intervalMs: this.#intervalMs,
      taken: this.#series.added,
      ...this.#health,
      failures: Object.fromEntries(Object.entries(failures).filter(([, count]) => count > 0)),
    };
  }

  /**
   * Returns the bytes that the machine has swapped in and out since the start of the time series; undefined if the
   * kernel does not report them.
   */
  swapped(): SwapReading | undefined {
    const [before, now] = [this.#swapAtStart, readSwap()];
    return before && now && { inBytes: now.inBytes - before.inBytes, outBytes: now.outBytes - before.outBytes };
  }

  /** Ends the time series. Resolves when the current row is complete. Idempotent. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  /** Adds rows at fixed times, so that a late row does not delay the next row. */
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
    try {
      this.#series.add(await this.#row());
    } catch {
      this.#health.missed++;
      this.#failures.row++;
    }
  }

  async #row(): Promise<SampleRow> {
    const pss = performance.now() >= this.#pssDueMs;
    const { pids, processes, atMs } = await this.#readProcesses(pss);
    const t = Math.round(atMs - this.#startMs) / 1000;
    const connections = this.#sources.connections();
    const inputs = createSamplerInputs(pids, processes, this.#timelyReaders());
    const machine = this.#sources.machine?.tick();
    const sampled = this.layers.map((layer) => readLayerSample(layer, inputs));
    this.#workers.add(t, pids.worker ?? [], processes);
    if (pss) this.#pssDueMs = atMs + (performance.now() - atMs) / PSS_SHARE;

    const before = this.#before;
    const now = { atMs, uses: await this.#cpu.uses(inputs) };
    this.#before = now;
    if (before) this.#health.longestGapMs = Math.max(this.#health.longestGapMs, atMs - before.atMs);

    const row: Record<string, number | LayerSample> = { t, connections, ...otherCpuSamples(await machine) };
    for (const [index, { id, isProcesses }] of this.layers.entries()) {
      const read = (await sampled[index]) ?? {};
      if (isProcesses && Object.keys(read).length === 0) continue;
      const sample: LayerSample = { ...read, ...cpuPercent(id, before, now) };
      if (isProcesses) this.#derivePss(sample, id, pids[id] ?? []);
      if (Object.keys(sample).length > 0) row[id] = sample;
    }
    return row as SampleRow;
  }

  /**
   * Returns the sources for a row. A source that does not answer within the interval is missing in the row, and does
   * not delay it.
   */
  #timelyReaders(): FigureReaders {
    const { workers, prometheus = {} } = this.#sources;
    const pages = Object.entries(prometheus).map(([layer, targets]) => {
      return [layer, { failures: 0, read: () => this.#pageInTime(layer, targets) }] as const;
    });
    return {
      ...this.#sources,
      // Inspectors are not used for rows of the time series, because they would have to stay open all the time.
      inspectors: undefined,
      workers: workers && { resources: () => workers.resources(), stats: () => workers.stats(this.#intervalMs / 2) },
      prometheus: Object.fromEntries(pages),
    };
  }

  /** Requests a metrics page. If a request to the page is pending, waits for that request. */
  async #pageInTime(layer: string, pages: Pages): Promise<PagesReading> {
    const reading = getOrAdd(this.#pages, layer, () => pages.read().finally(() => this.#pages.delete(layer)));
    try {
      return await withTimeLimit(reading, this.#intervalMs * PAGE_SHARE);
    } catch (error) {
      // Other failures are counted by the reader of the metrics page.
      if (error instanceof TimeLimitError) this.#failures.prometheus++;
      throw error;
    }
  }

  #derivePss(sample: LayerSample, layer: string, pids: number[]): void {
    const { rssBytes, pssBytes } = sample;
    if (rssBytes === undefined || pssBytes !== undefined) return;
    const derived = this.#shared.derive(layer, pids, rssBytes);
    if (derived !== undefined) sample.derivedPssBytes = derived;
  }

  /**
   * Reads all processes. Reads them again if a process exits meanwhile, because short-lived children of a worker can
   * exit at any time.
   */
  async #readProcesses(pss: boolean) {
    const first = await this.#readAll(pss);
    const isComplete = Object.values(first.pids).every((pids) => pids.every((pid) => first.processes.has(pid)));
    return isComplete ? first : this.#readAll(pss);
  }

  async #readAll(pss: boolean) {
    const pids = await this.#pids();
    const atMs = performance.now();
    const processes = await readProcesses(Object.values(pids).flat(), { pss });
    this.#cpu.add(pids, processes);
    if (pss) this.#shared.note(pids, processes);
    return { pids, atMs, processes };
  }

  async #pids(): Promise<LayerPids> {
    try {
      return await this.#sources.pids();
    } catch {
      this.#failures.processes++;
      return {};
    }
  }
}

/** Returns the CPU use of other programs and of the hypervisor as parts of a row. */
function otherCpuSamples(shares: MachineShares | undefined): Record<string, LayerSample> {
  if (!shares) return {};
  const { othersCores, stealCores } = shares;
  const percent = (cores: number): LayerSample => ({ cpuPercent: Math.max(0, Math.round(1000 * cores) / 10) });
  return { ...(othersCores !== null && { others: percent(othersCores) }), steal: percent(stealCores) };
}
