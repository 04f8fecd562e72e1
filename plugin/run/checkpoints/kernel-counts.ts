/**
 * If the workers of a server on this machine count nothing for the run, the kernel does: each connection is a socket in one of
 * the server's processes, and only the run uses its port.
 */
import type { RunContext } from '../context.ts';
import { type Moment, type Observed, WRONG_COUNTS } from '../measurements/observations.ts';
import { until } from '../wait.ts';
import { ownCounts, stoodStill } from './still.ts';

/** Connections that may be missing among the open files, because other files close meanwhile. */
const MISSING = { least: 5, share: 0.1 };
/** Other connections that are allowed: a page of metrics on the same port, or a health check. */
const STRANGERS = { least: 5, share: 0.01 };
/** A worker can open a file a little later than the generator its connection, and one that has ended can be listed longer. */
const AGREE_TIMEOUT_MS = 3000;
const POLL_MS = 200;

export class KernelCounts {
  readonly #context: RunContext;
  /** Before the load; undefined if it is not known. */
  #before: { files?: number | undefined; others?: number | undefined } = {};

  constructor(context: RunContext) {
    this.#context = context;
  }

  /** @returns how many connections to the port are not the run's own, if they are more than a few */
  async begin(): Promise<number> {
    const others = await this.#others();
    this.#before = { files: await this.#context.target.openFiles?.(), others };
    return others !== undefined && others > STRANGERS.least ? others : 0;
  }

  async check(when: Moment): Promise<void> {
    await this.#noteFullest();
    const { signal } = this.#context;
    const { observations } = this.#context.measurements;
    let note: (() => void) | undefined;
    const isSettled = async () => {
      if (observations.has(...WRONG_COUNTS)) return true;
      const before = ownCounts(this.#context);
      const missing = await this.#missingSockets();
      const others = missing ? undefined : await this.#strangers();
      const differs = missing !== undefined || others !== undefined;
      const isSteady = differs && (await stoodStill(this.#context, before));
      if (!isSteady) note = undefined;
      else if (missing) note = () => observations.note('socketsMissing', { when, ...missing });
      else if (others) note = () => observations.note('othersAtPort', { when, ...others });
      return !differs;
    };
    await until(isSettled, AGREE_TIMEOUT_MS, signal, POLL_MS);
    // The connections of a process that ended are nowhere else.
    if (!signal.aborted && this.#context.measurements.endedProcesses().length === 0) note?.();
  }

  async #noteFullest(): Promise<void> {
    const { measurements, target } = this.#context;
    const now = await target.fullest?.();
    if (now && now.openFiles >= (measurements.fullest?.openFiles ?? 0)) measurements.fullest = now;
  }

  async #missingSockets(): Promise<Omit<Observed['socketsMissing'], 'when'> | undefined> {
    const { measurements, target, population } = this.#context;
    const { files: before } = this.#before;
    // A client that polls has a socket only while it asks.
    if (before === undefined || measurements.transports === 'polling') return undefined;
    const now = await target.openFiles?.();
    const held = population.connections();
    if (now === undefined || held - (now - before) <= Math.max(MISSING.least, MISSING.share * held)) return undefined;
    return { sockets: Math.max(0, now - before), held };
  }

  async #strangers(): Promise<Omit<Observed['othersAtPort'], 'when'> | undefined> {
    const { population, measurements } = this.#context;
    const { others: before } = this.#before;
    // Clients that poll have any number of connections at a time.
    if (before === undefined || measurements.transports !== 'websocket') return undefined;
    const more = ((await this.#others()) ?? before) - before;
    const held = population.connections();
    if (more <= Math.max(STRANGERS.least, STRANGERS.share * held)) return undefined;
    return { others: more, held };
  }

  /** @returns connections that are not the run's own: in this process are those of its HTTP steps, and all receivers but one */
  async #others(): Promise<number | undefined> {
    const { population, sentinel } = this.#context;
    const outside = await this.#context.target.connections?.();
    return outside === undefined ? undefined : outside - population.connections() - (sentinel?.connected ? 1 : 0);
  }
}

/** Together they take more than the 10 ms in which the kernel counts, of the fastest server, too. */
const MIN_CONNECTIONS = 400;

/** Connections cost the workers CPU time: processes that use none while some come are not those of the server. */
export class BusyWorkers {
  readonly #context: RunContext;
  /** When their CPU time last moved. */
  #moved: { cpuUs: number; connections: number } | undefined;

  constructor(context: RunContext) {
    this.#context = context;
  }

  async check(when: Moment): Promise<void> {
    const { sampler, population, measurements } = this.#context;
    // Connections that come while the CPU time is read are not in it.
    const connections = population.connections();
    const { worker: cpuUs } = await sampler.cpu();
    if (cpuUs === undefined) return;
    const moved = this.#moved;
    if (moved?.cpuUs !== cpuUs) this.#moved = { cpuUs, connections };
    else if (Math.abs(connections - moved.connections) >= MIN_CONNECTIONS) {
      measurements.observations.note('cpuStill', { when, connections: moved.connections });
    }
  }
}
