/**
 * If the workers of a server on this machine count nothing for the run, the kernel does: each connection is a socket in one of
 * the server's processes, and only the run uses its port.
 */
import { until } from '../wait.ts';
import { ownCounts, stoodStill } from './still.ts';
import { Check } from './warnings.ts';

/** Connections that may be missing among the open files, because other files close meanwhile. */
const MISSING = { least: 5, share: 0.1 };
/** Other connections that are allowed: a page of metrics on the same port, or a health check. */
const STRANGERS = { least: 5, share: 0.01 };
/** A worker can open a file a little later than the generator its connection, and one that has ended can be listed longer. */
const AGREE_TIMEOUT_MS = 3000;
const POLL_MS = 200;

export class KernelCounts extends Check {
  /** Before the load; undefined if it is not known. */
  #before: { files?: number | undefined; others?: number | undefined } = {};

  /** @returns how many connections to the port are not the run's own, if they are more than a few */
  async begin(): Promise<number> {
    const others = await this.#others();
    this.#before = { files: await this.context.target.openFiles?.(), others };
    return others !== undefined && others > STRANGERS.least ? others : 0;
  }

  async check(when: string): Promise<void> {
    await this.#noteFullest();
    const { signal } = this.context;
    let found: { message: string; fix: string } | undefined;
    const isSettled = async () => {
      if (this.warnings.has('WORKERS_DISAGREE')) return true;
      const before = ownCounts(this.context);
      const differs = (await this.#missingSockets()) ?? (await this.#strangers());
      found = differs && (await stoodStill(this.context, before)) ? differs : undefined;
      return differs === undefined;
    };
    await until(isSettled, AGREE_TIMEOUT_MS, signal, POLL_MS);
    if (found && !signal.aborted) this.warnings.warn('WORKERS_DISAGREE', `${when}, ${found.message}`, found.fix);
  }

  async #noteFullest(): Promise<void> {
    const { measurements, target } = this.context;
    const now = await target.fullest?.();
    if (now && now.openFiles >= (measurements.fullest?.openFiles ?? 0)) measurements.fullest = now;
  }

  async #missingSockets() {
    const { measurements, target, population } = this.context;
    const { files: before } = this.#before;
    // A client that polls has a socket only while it asks.
    if (before === undefined || measurements.transports === 'polling') return undefined;
    const now = await target.openFiles?.();
    const held = population.connections();
    if (now === undefined || held - (now - before) <= Math.max(MISSING.least, MISSING.share * held)) return undefined;
    return {
      message: `the processes of the server have ${Math.max(0, now - before)} sockets and files more than before the load, and the generator holds ${held} connections: other processes hold the rest`,
      fix: 'name all processes of the server: those of every worker, or the one that starts them',
    };
  }

  async #strangers() {
    const { population, measurements } = this.context;
    const { others: before } = this.#before;
    // Clients that poll have any number of connections at a time.
    if (before === undefined || measurements.transports !== 'websocket') return undefined;
    const more = ((await this.#others()) ?? before) - before;
    const held = population.connections();
    if (more <= Math.max(STRANGERS.least, STRANGERS.share * held)) return undefined;
    return {
      message: `the target had ${more} connections beside the ${held} of the generator`,
      fix: 'measure a server that has no other users',
    };
  }

  /** @returns connections that are not the run's own: in this process are those of its HTTP steps, and all receivers but one */
  async #others(): Promise<number | undefined> {
    const { population, sentinel } = this.context;
    const outside = await this.context.target.connections?.();
    return outside === undefined ? undefined : outside - population.connections() - (sentinel?.connected ? 1 : 0);
  }
}

/** Together they take more than the 10 ms in which the kernel counts, of the fastest server, too. */
const MIN_CONNECTIONS = 400;

/** Connections cost the workers CPU time: processes that use none while some come are not those of the server. */
export class BusyWorkers extends Check {
  /** When their CPU time last moved. */
  #moved: { cpuUs: number; connections: number } | undefined;

  async check(when: string): Promise<void> {
    const { sampler, population } = this.context;
    // Connections that come while the CPU time is read are not in it.
    const connections = population.connections();
    const { worker: cpuUs } = await sampler.cpu();
    if (cpuUs === undefined) return;
    const moved = this.#moved;
    if (moved?.cpuUs !== cpuUs) this.#moved = { cpuUs, connections };
    else if (Math.abs(connections - moved.connections) >= MIN_CONNECTIONS) {
      const message = `${when}, the workers had used no CPU time since ${moved.connections} connections: other processes hold the connections`;
      this.warnings.warn(
        'WORKERS_DISAGREE',
        message,
        'name the processes of the server: ss -tlnp names those of its port',
      );
    }
  }
}
