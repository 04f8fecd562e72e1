/** Restarts of workers between two standstills: by the end of a run, a new process can have counted more than the old one. */
import type { WorkerStats } from '../../../protocol/events.ts';
import type { RunContext } from '../context.ts';
import { changesBetween, identityOf, type WorkerIdentity } from '../measurements/worker-identity.ts';

export class WorkerRestarts {
  readonly #context: RunContext;
  #last: WorkerIdentity[] = [];

  constructor(context: RunContext) {
    this.#context = context;
  }

  /** Takes the workers as they are: before the load, and after a planned fault. */
  begin(workers: WorkerIdentity[]): void {
    this.#last = workers;
  }

  check(stats: WorkerStats[]): void {
    const now = stats.map(identityOf);
    const { restarts } = this.#context.measurements;
    for (const [worker, evidence] of changesBetween(this.#last, now).restarted) {
      if (!restarts.has(worker)) restarts.set(worker, evidence);
    }
    this.#last = now;
  }
}
