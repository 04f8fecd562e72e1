/**
 * Checks by the kernel's figures for a server on this machine whose workers do not report counts: each connection is an open
 * file of a server process, and costs it CPU time.
 */
import type { RunContext } from '../context.ts';
import { type Moment, type Observed, WRONG_COUNTS } from '../measurements/observations.ts';
import { until } from '../wait.ts';
import { areUnchanged, runCounts } from './still.ts';

/** Sockets that may be missing among the open files, as other files may close in the same time. */
const ALLOWED_MISSING = { least: 5, share: 0.1 };
/** Connections of other clients that are allowed, such as health checks or reads of a metrics page on the same port. */
const ALLOWED_OTHERS = { least: 5, share: 0.01 };
/** How long the server may lag behind the generator when sockets open and close. */
const AGREE_TIMEOUT_MS = 3000;
const POLL_MS = 200;

export class KernelCounts {
  readonly #context: RunContext;
  /** Readings before the load; undefined if unknown. */
  #before: { files?: number | undefined; others?: number | undefined } = {};

  constructor(context: RunContext) {
    this.#context = context;
  }

  /** Returns connections to the port that are not the run's own; 0 if there are only a few. */
  async begin(): Promise<number> {
    const others = await this.#otherConnections();
    this.#before = { files: await this.#context.target.openFiles?.(), others };
    return others !== undefined && others > ALLOWED_OTHERS.least ? others : 0;
  }

  async check(when: Moment): Promise<void> {
    await this.#noteFullest();
    const { signal } = this.#context;
    const { observations } = this.#context.measurements;
    let note: (() => void) | undefined;
    const isSettled = async () => {
      if (observations.has(...WRONG_COUNTS)) return true;
      const before = runCounts(this.#context);
      const missing = await this.#missingSockets();
      const others = missing ? undefined : await this.#excessConnections();
      const differs = missing !== undefined || others !== undefined;
      const isSteady = differs && (await areUnchanged(this.#context, before));
      if (!isSteady) note = undefined;
      else if (missing) note = () => observations.note('socketsMissing', { when, ...missing });
      else if (others) note = () => observations.note('othersAtPort', { when, ...others });
      return !differs;
    };
    await until(isSettled, AGREE_TIMEOUT_MS, signal, POLL_MS);
    // If a process ended, its sockets are missing for that reason, which is reported.
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
    // A polling client has a socket only during a request.
    if (before === undefined || measurements.transports === 'polling') return undefined;
    const now = await target.openFiles?.();
    const held = population.connections();
    if (now === undefined || held - (now - before) <= Math.max(ALLOWED_MISSING.least, ALLOWED_MISSING.share * held))
      return undefined;
    return { sockets: Math.max(0, now - before), held };
  }

  async #excessConnections(): Promise<Omit<Observed['othersAtPort'], 'when'> | undefined> {
    const { population, measurements } = this.#context;
    const { others: before } = this.#before;
    // A polling client may have any number of sockets at a time.
    if (before === undefined || measurements.transports !== 'websocket') return undefined;
    const more = ((await this.#otherConnections()) ?? before) - before;
    const held = population.connections();
    if (more <= Math.max(ALLOWED_OTHERS.least, ALLOWED_OTHERS.share * held)) return undefined;
    return { others: more, held };
  }

  /**
   * Returns connections to the port that are not the run's own. The target already excludes connections of this process: HTTP steps and the
   * run's own clients except the reference receiver.
   */
  async #otherConnections(): Promise<number | undefined> {
    const { population, sentinel } = this.#context;
    const outside = await this.#context.target.connections?.();
    return outside === undefined ? undefined : outside - population.connections() - (sentinel?.connected ? 1 : 0);
  }
}

/** Opening this many connections takes even the fastest server more than 10 ms, the kernel's resolution of CPU time. */
const MIN_CONNECTIONS = 400;

/** Checks that the workers' CPU time rises as connections open: otherwise, these are not the server's processes. */
export class BusyWorkers {
  readonly #context: RunContext;
  /** The CPU time, and the connections when it last changed. */
  #lastChange: { cpuUs: number; connections: number } | undefined;

  constructor(context: RunContext) {
    this.#context = context;
  }

  async check(when: Moment): Promise<void> {
    const { sampler, population, measurements } = this.#context;
    // Counted first, as the CPU time excludes connections that open while it is read.
    const connections = population.connections();
    const { worker: cpuUs } = await sampler.cpu();
    if (cpuUs === undefined) return;
    const last = this.#lastChange;
    if (last?.cpuUs !== cpuUs) this.#lastChange = { cpuUs, connections };
    else if (Math.abs(connections - last.connections) >= MIN_CONNECTIONS) {
      measurements.observations.note('cpuStill', { when, connections: last.connections });
    }
  }
}
