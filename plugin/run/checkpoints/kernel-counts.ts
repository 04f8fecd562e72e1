/**
 * Checks the number of connections with the kernel's figures, for a server on this machine whose workers do not report
 * counts. Each connection is an open file of a server process, and costs CPU time of the process.
 */
import type { RunContext } from '../context.ts';
import { type CheckMoment, type ObservedFacts, WRONG_COUNTS } from '../measurements/observations.ts';
import { pollUntil } from '../wait.ts';
import { areCountsUnchanged, runCounts } from './still.ts';

/**
 * Allowed number of sockets that are missing in the server's open files: other files of the server may have closed in
 * the same time.
 */
const ALLOWED_MISSING = { least: 5, share: 0.1 };
/**
 * Allowed number of connections of other clients, for example health checks or reads of a metrics page on the same
 * port.
 */
const ALLOWED_OTHERS = { least: 5, share: 0.01 };
/** Time limit for the server to open or close as many sockets as the generator. */
const AGREE_TIMEOUT_MS = 3000;
const POLL_MS = 200;

export class KernelCounts {
  readonly #context: RunContext;
  /** Open files and other clients' connections before the load; undefined if they are unavailable. */
  #before: { files?: number | undefined; others?: number | undefined } = {};

  constructor(context: RunContext) {
    this.#context = context;
  }

  /**
   * Takes the first readings.
   * @returns the number of connections to the port that are not the run's; 0 if there are only a few
   */
  async begin(): Promise<number> {
    const others = await this.#otherConnections();
    this.#before = { files: await this.#context.target.openFiles?.(), others };
    return others !== undefined && others > ALLOWED_OTHERS.least ? others : 0;
  }

  async check(when: CheckMoment): Promise<void> {
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
      const isSteady = differs && (await areCountsUnchanged(this.#context, before));
      if (!isSteady) note = undefined;
      else if (missing) note = () => observations.note('socketsMissing', { when, ...missing });
      else if (others) note = () => observations.note('othersAtPort', { when, ...others });
      return !differs;
    };
    await pollUntil(isSettled, AGREE_TIMEOUT_MS, signal, POLL_MS);
    // The kernel no longer lists the sockets of an exited process, so this check records nothing after an exit. The run
    // reports the exit separately.
    if (!signal.aborted && this.#context.measurements.endedProcesses().length === 0) note?.();
  }

  async #noteFullest(): Promise<void> {
    const { measurements, target } = this.#context;
    const now = await target.fullest?.();
    if (now && now.openFiles >= (measurements.fullest?.openFiles ?? 0)) measurements.fullest = now;
  }

  async #missingSockets(): Promise<Omit<ObservedFacts['socketsMissing'], 'when'> | undefined> {
    const { measurements, target, population } = this.#context;
    const { files: before } = this.#before;
    // A client with the polling transport has an open socket only during a request.
    if (before === undefined || measurements.transports === 'polling') return undefined;
    const now = await target.openFiles?.();
    const held = population.connections();
    if (now === undefined || held - (now - before) <= Math.max(ALLOWED_MISSING.least, ALLOWED_MISSING.share * held))
      return undefined;
    return { sockets: Math.max(0, now - before), held };
  }

  async #excessConnections(): Promise<Omit<ObservedFacts['othersAtPort'], 'when'> | undefined> {
    const { population, measurements } = this.#context;
    const { others: before } = this.#before;
    // A client with the polling transport may have several sockets at a time.
    if (before === undefined || measurements.transports !== 'websocket') return undefined;
    const more = ((await this.#otherConnections()) ?? before) - before;
    const held = population.connections();
    if (more <= Math.max(ALLOWED_OTHERS.least, ALLOWED_OTHERS.share * held)) return undefined;
    return { others: more, held };
  }

  /**
   * Returns the number of connections to the port that are not the run's. The target already excludes connections of
   * this process: HTTP steps and the run's own clients except the reference receiver.
   */
  async #otherConnections(): Promise<number | undefined> {
    const { population, sentinel } = this.#context;
    const outside = await this.#context.target.connections?.();
    return outside === undefined ? undefined : outside - population.connections() - (sentinel?.connected ? 1 : 0);
  }
}

/**
 * Number of connections that cost even the fastest server more than 10 ms of CPU time, which is the resolution of the
 * kernel's CPU times.
 */
const MIN_CONNECTIONS = 400;

/**
 * Checks that the workers' CPU time rises as connections open. A constant CPU time means that other processes serve the
 * connections.
 */
export class BusyWorkers {
  readonly #context: RunContext;
  /** The workers' CPU time when it last changed, and the number of connections at that time. */
  #lastChange: { cpuUs: number; connections: number } | undefined;

  constructor(context: RunContext) {
    this.#context = context;
  }

  async check(when: CheckMoment): Promise<void> {
    const { sampler, population, measurements } = this.#context;
    // Connections are counted before the CPU time is read, so that the CPU time can only be newer than the count.
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
