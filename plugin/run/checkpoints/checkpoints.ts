/**
 * Checks at every standstill of a run: the workers count the connections that the generator holds, their statistics are
 * live, and the deployment is the one that the run began with. Bytes per connection are only as good as these counts.
 */
import type { WorkerStats } from '../../../protocol/events.ts';
import { addWarning, type RunContext } from '../context.ts';
import type { EngineSnapshot } from '../link.ts';
import { identityOf, type WorkerIdentity } from '../measurements/worker-identity.ts';
import { succeed } from '../wait.ts';
import { BusyWorkers, KernelCounts } from './kernel-counts.ts';
import { MetricsPages } from './metrics-pages.ts';
import { Check, WarningsOnce } from './warnings.ts';
import { WorkerCounts } from './worker-counts.ts';
import { WorkerRestarts } from './worker-restarts.ts';

/** For a worker that died to be restarted, so that the result can name it. */
const RESTART_TIMEOUT_MS = 5000;

export class Checkpoints extends Check {
  readonly #counts: WorkerCounts;
  readonly #restarts: WorkerRestarts;
  readonly #kernel: KernelCounts;
  readonly #busy: BusyWorkers;
  readonly #metrics: MetricsPages;
  /** Of the deployment, by name: what identifies the one that the run began with, or that a planned fault put in its place. */
  #parts: Record<string, string> = {};

  constructor(context: RunContext) {
    super(context);
    // Whoever counts the same connections need not say twice that a count is wrong.
    const ofCounts = new WarningsOnce(context);
    this.#counts = new WorkerCounts(context, ofCounts);
    this.#restarts = new WorkerRestarts(context);
    this.#kernel = new KernelCounts(context, ofCounts);
    this.#busy = new BusyWorkers(context, ofCounts);
    this.#metrics = new MetricsPages(context);
  }

  /** Before the load. @returns the workers, and how many connections are not the run's own */
  async begin(): Promise<{ workers: WorkerStats[]; others: number }> {
    const { workers, others } = await this.#counts.begin();
    this.#restarts.begin(workers.map(identityOf));
    this.#parts = await this.context.deployment();
    await this.#busy.check('before the load');
    const othersAtPort = await this.#kernel.begin();
    await this.#metrics.begin();
    return { workers, others: Math.max(others, othersAtPort) };
  }

  /** @param when as in "at 1000 connections" */
  async check(when: string): Promise<void> {
    if (this.context.signal.aborted) return;
    this.#restarts.check(await this.#counts.check(when));
    await this.#kernel.check(when);
    await this.#busy.check(when);
    await this.#metrics.check(when);
    await this.checkDeployment(when);
  }

  /**
   * After the broadcasts: whether those still answer without whom figures are missing or wrong, and whether joins name the
   * workers that count the connections.
   * @returns what all engines have counted
   */
  async end(): Promise<EngineSnapshot[]> {
    if (!this.context.signal.aborted) await this.#checkRedis('at the end');
    await this.check('after the broadcasts');
    await this.context.noteProcesses?.();
    const snapshots = await this.context.link.snapshots();
    this.#counts.checkEach(snapshots);
    this.#checkEngines();
    return snapshots;
  }

  /** What may have ended the run early: parts that are others now, and parts that are gone. */
  async stopped(): Promise<void> {
    const when = 'when the run stopped';
    await this.checkDeployment(when);
    // Whoever stops it himself often stops the server with it, and does not want to wait.
    const { stoppedByUser } = this.context.measurements;
    const gone = await this.#lookForWorkers(stoppedByUser ? 0 : RESTART_TIMEOUT_MS);
    if (stoppedByUser) return;
    await this.#checkRedis(when);
    if (gone.length > 0)
      addWarning(this.context, 'DEPLOYMENT_CHANGED', `${gone.join(', ')} no longer answered ${when}`);
  }

  async checkDeployment(when: string): Promise<void> {
    const now = await this.context.deployment();
    const changed = this.#changed(now);
    if (changed.length === 0) return;
    this.#parts = { ...this.#parts, ...now };
    const message = `${when}, ${changed.join(' and ')} were reloaded, replaced or stopped since the run began`;
    this.warnings.warn('DEPLOYMENT_CHANGED', message);
  }

  /**
   * After a planned fault: what it was to replace is from now on as it is now.
   * @param isPlanned of a part of the deployment
   * @param workers as they are now
   * @returns parts that were replaced as planned
   */
  async settle(isPlanned: (part: string) => boolean, workers: WorkerIdentity[], when: string): Promise<string[]> {
    this.#restarts.begin(workers);
    const now = await this.context.deployment();
    const replaced = this.#changed(now).filter(isPlanned);
    for (const part of replaced) this.#parts[part] = now[part] as string;
    await this.checkDeployment(when);
    return replaced;
  }

  #changed(now: Record<string, string>): string[] {
    return Object.keys(this.#parts).filter((part) => part in now && now[part] !== this.#parts[part]);
  }

  /** Without Redis, a broadcast reaches only the members on the publisher's own worker. */
  async #checkRedis(when: string): Promise<void> {
    const { redis } = this.context;
    if (!redis || (await redis.answers())) return;
    const why = redis.lastFailure ?? 'no answer';
    addWarning(this.context, 'DEPLOYMENT_CHANGED', `Redis no longer answered ${when}: ${why}`);
  }

  /** One that was restarted is back soon, if it can start at all. @returns names of those that are not */
  async #lookForWorkers(timeoutMs: number): Promise<string[]> {
    const { control, measurements } = this.context;
    const { workersAtStart } = measurements;
    let now: (WorkerStats | undefined)[] = [];
    await succeed(async () => {
      now = await control.statsOfUp();
      if (now.includes(undefined)) throw new Error('a worker is away');
    }, timeoutMs);
    measurements.workersAtEnd = now.flatMap((one, index) => (one ? identityOf(one) : (workersAtStart[index] ?? [])));
    return workersAtStart.flatMap(({ worker }, index) => (index in now && !now[index] ? worker : []));
  }

  /** The counts of an engine that does not answer are missing from every figure. */
  #checkEngines(): void {
    const { unanswered, silentHosts } = this.context.link;
    if (unanswered === 0) return;
    const where = silentHosts.size > 0 ? ` on ${[...silentHosts].join(', ')}` : '';
    const message = `Artillery's workers${where} left ${unanswered} requests of the run unanswered`;
    addWarning(this.context, 'GENERATOR_SILENT', message);
  }
}
