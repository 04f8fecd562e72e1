/**
 * Checks at every pause of a run that the workers count as many connections as the generator holds, that the workers'
 * statistics are up to date, and that no process of the deployment was replaced. Memory per connection depends on the
 * connection counts.
 */
import type { WorkerStats } from '../../../protocol/wire/events.ts';
import type { RunContext } from '../context.ts';
import { isFaultActive } from '../fault/fault-times.ts';
import type { EngineSnapshot } from '../link.ts';
import { recordAbsentSource } from '../measurements/absent-sources.ts';
import type { CheckMoment } from '../measurements/observations.ts';
import {
  type ChangedPart,
  type DeploymentPart,
  type WorkerIdentity,
  workerIdentityOf,
} from '../measurements/worker-identity.ts';
import { retryUntilSuccess } from '../wait.ts';
import { BusyWorkers, KernelCounts } from './kernel-counts.ts';
import { MetricsPages } from './metrics-pages.ts';
import { WorkerCounts, WorkerRestarts } from './worker-counts.ts';

/** How long an aborted run waits for a dead worker to restart, so that the run can report the restart. */
const RESTART_TIMEOUT_MS = 5000;

export class Checkpoints {
  readonly #context: RunContext;
  readonly #counts: WorkerCounts;
  readonly #restarts: WorkerRestarts;
  readonly #kernel: KernelCounts;
  readonly #busy: BusyWorkers;
  readonly #metrics: MetricsPages;
  /**
   * Expected processes of the deployment by name: from the start of the run, or after a planned fault replaced them.
   */
  #parts: Record<string, DeploymentPart> = {};
  /** When the processes were last identified, in seconds since the start of the sampler. */
  #partsAt = 0;

  constructor(context: RunContext) {
    this.#context = context;
    this.#counts = new WorkerCounts(context);
    this.#restarts = new WorkerRestarts(context);
    this.#kernel = new KernelCounts(context);
    this.#busy = new BusyWorkers(context);
    this.#metrics = new MetricsPages(context);
  }

  /**
   * Takes the first readings before the load.
   * @returns the workers' statistics, and the number of connections that other clients hold
   */
  async begin(): Promise<{ workers: WorkerStats[]; others: number }> {
    const { workers, others } = await this.#counts.begin();
    this.#restarts.begin(workers.map(workerIdentityOf));
    this.#parts = await this.#context.deployment();
    await this.#busy.check({ at: 'begin' });
    const othersAtPort = await this.#kernel.begin();
    await this.#metrics.begin();
    return { workers, others: Math.max(others, othersAtPort) };
  }

  async check(when: CheckMoment): Promise<void> {
    if (this.#context.signal.aborted) return;
    this.#restarts.check(await this.#counts.check(when));
    await this.#kernel.check(when);
    await this.#busy.check(when);
    await this.#metrics.check(when);
    await this.checkDeployment(when);
  }

  /**
   * Checks after the broadcasts that Redis and all engines still answer, and that the connection count of each worker
   * matches the join acknowledgements that name the worker.
   * @returns the counts of all engines
   */
  async end(): Promise<EngineSnapshot[]> {
    if (!this.#context.signal.aborted) await this.#checkRedis({ at: 'broadcasts' });
    await this.check({ at: 'broadcasts' });
    // Processes that hold connections can only be found while connections are open, so the check is skipped without
    // any.
    if (this.#context.population.connections() > 0) await this.#context.noteProcesses?.();
    const snapshots = await this.#context.link.snapshots();
    this.#counts.checkEach(snapshots);
    this.#checkEngines();
    return snapshots;
  }

  /** Looks for replaced or missing processes of the deployment, which may have ended the run early. */
  async stopped(): Promise<void> {
    const when = { at: 'stop' } as const;
    await this.checkDeployment(when);
    // After a stop by the user, workers that do not answer are not reported, because users often stop the server
    // together with the run.
    const { measurements, control } = this.#context;
    const { stoppedByUser } = measurements;
    const silent = await this.#awaitWorkers(stoppedByUser ? 0 : RESTART_TIMEOUT_MS);
    if (stoppedByUser) return;
    await this.#checkRedis(when);
    const failures = control.failures();
    measurements.silentWorkers = silent.map(({ worker, index }) => ({
      ...{ worker, isRefused: failures[index] === 'ECONNREFUSED', connections: this.#restarts.connectionsOf(worker) },
    }));
  }

  async checkDeployment(when: CheckMoment): Promise<void> {
    const { measurements, sampler } = this.#context;
    const now = await this.#context.deployment();
    const since = this.#partsAt;
    this.#partsAt = sampler.seconds();
    const parts = this.#changedParts(now);
    if (parts.length === 0) return;
    this.#parts = { ...this.#parts, ...now };
    measurements.observations.note('partsChanged', { when, parts, since }, parts.map(({ name }) => name).join());
  }

  /**
   * Accepts the processes that a planned fault replaced.
   * @param isPlanned returns whether the fault replaces the process
   * @param workers the workers after the fault
   * @returns names of the replaced processes
   */
  async settle(isPlanned: (part: string) => boolean, workers: WorkerIdentity[]): Promise<string[]> {
    this.#restarts.begin(workers);
    const now = await this.#context.deployment();
    const replaced = this.#changedParts(now)
      .map(({ name }) => name)
      .filter(isPlanned);
    for (const part of replaced) this.#parts[part] = now[part] as DeploymentPart;
    await this.checkDeployment({ at: 'after fault' });
    return replaced;
  }

  #changedParts(now: Record<string, DeploymentPart>): ChangedPart[] {
    return Object.entries(this.#parts).flatMap(([name, { layer, identity }]) =>
      now[name] && now[name].identity !== identity ? { name, layer } : [],
    );
  }

  /** Notes that Redis does not answer. Without Redis, a broadcast reaches only members on the publishing worker. */
  async #checkRedis(when: CheckMoment): Promise<void> {
    const { redis, measurements } = this.#context;
    if (!redis) return;
    const isUp = await redis.answers();
    const { name, absence } = redis;
    if (!absence) return;
    if (isUp || (absence.reason === 'unanswered' && absence.sinceUs === undefined))
      recordAbsentSource(measurements, name, absence);
    else measurements.observations.note('redisSilent', { when, name, failure: absence.detail });
  }

  /**
   * Waits for workers to restart.
   * @returns names and indices of the workers that did not answer within the time limit
   */
  async #awaitWorkers(timeoutMs: number): Promise<{ worker: string; index: number }[]> {
    const { control, measurements } = this.#context;
    const { workersAtStart } = measurements;
    let now: (WorkerStats | undefined)[] = [];
    await retryUntilSuccess(async () => {
      now = await control.statsOfUp();
      if (now.includes(undefined)) throw new Error('a worker is away');
    }, timeoutMs);
    // Skips restarts by a planned fault, which the measurement of the fault reports.
    if (!isFaultActive(measurements.fault)) this.#restarts.check(now);
    measurements.workersAtEnd = now.flatMap((stats, index) =>
      stats ? workerIdentityOf(stats) : (workersAtStart[index] ?? []),
    );
    return workersAtStart.flatMap(({ worker }, index) => (index in now && !now[index] ? { worker, index } : []));
  }

  /** Notes engines that did not answer: all figures of the run lack the counts of these engines. */
  #checkEngines(): void {
    const { link, measurements } = this.#context;
    if (link.unanswered === 0) return;
    const silent = { requests: link.unanswered, hosts: [...link.silentHosts] };
    measurements.observations.note('enginesSilent', silent);
  }
}
