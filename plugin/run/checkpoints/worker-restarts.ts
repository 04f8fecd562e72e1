/** Detects worker restarts at every check: at the end of a run, a new process may look like the old one. */
import type { WorkerStats } from '../../../protocol/wire/events.ts';
import type { RunContext } from '../context.ts';
import { changesBetween, identityOf, type WorkerIdentity } from '../measurements/worker-identity.ts';

export class WorkerRestarts {
  readonly #context: RunContext;
  #last: WorkerIdentity[] = [];

  constructor(context: RunContext) {
    this.#context = context;
  }

  /** Sets the expected workers, before the load and after a planned fault. */
  begin(workers: WorkerIdentity[]): void {
    this.#last = workers;
  }

  /** @param stats in the order of the control URLs; undefined for a worker that does not answer */
  check(stats: (WorkerStats | undefined)[]): void {
    if (this.#last.length === 0) return;
    const { measurements, sampler } = this.#context;
    const now = stats.flatMap((found, index) => (found ? identityOf(found) : (this.#last[index] ?? [])));
    for (const [worker, evidence] of changesBetween(this.#last, now).restarted) {
      if (measurements.restarts.has(worker)) continue;
      const uptimeSeconds = now.find((identity) => identity.worker === worker)?.life?.uptimeSeconds ?? 0;
      const t = sampler.seconds() - uptimeSeconds;
      measurements.restarts.set(worker, { evidence, t, connections: this.connectionsOf(worker) });
    }
    this.#last = now;
  }

  connectionsOf(worker: string): number {
    return this.#last.find((identity) => identity.worker === worker)?.life?.connections ?? 0;
  }
}
