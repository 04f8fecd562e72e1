/**
 * Checks at every standstill of a run: the workers count the connections that the generator holds, their statistics are
 * live, and the deployment is the one that the run began with. Bytes per connection are only as good as these counts.
 */
import type { WorkerStats } from '../../../protocol/events.ts';
import type { RunContext } from '../context.ts';
import type { EngineSnapshot } from '../link.ts';
import { BusyWorkers } from './busy-workers.ts';
import { DeploymentParts } from './deployment-parts.ts';
import { MetricsPages } from './metrics-pages.ts';
import { OpenFiles } from './open-files.ts';
import { OtherClients } from './other-clients.ts';
import { StatisticsAge } from './statistics-age.ts';
import { WarningsOnce } from './warnings.ts';
import { WorkerCounts } from './worker-counts.ts';

export class Checkpoints {
  readonly #context: RunContext;
  readonly #counts: WorkerCounts;
  readonly #age: StatisticsAge;
  readonly #files: OpenFiles;
  readonly #busy: BusyWorkers;
  readonly #others: OtherClients;
  readonly #metrics: MetricsPages;
  readonly #deployment: DeploymentParts;

  constructor(context: RunContext) {
    this.#context = context;
    // Whoever counts the same connections need not say twice that a count is wrong.
    const ofCounts = new WarningsOnce(context);
    this.#counts = new WorkerCounts(context, ofCounts);
    this.#age = new StatisticsAge(context, ofCounts);
    this.#files = new OpenFiles(context, ofCounts);
    this.#busy = new BusyWorkers(context, ofCounts);
    this.#others = new OtherClients(context, ofCounts);
    this.#metrics = new MetricsPages(context, new WarningsOnce(context));
    this.#deployment = new DeploymentParts(context, new WarningsOnce(context));
  }

  /** Before the load. @returns the workers, and how many connections are not the run's own */
  async begin(): Promise<{ workers: WorkerStats[]; others: number }> {
    const { control, adminUi } = this.#context;
    const workers = await control.stats();
    const counted = adminUi?.servers() ?? workers;
    this.#age.begin(counted);
    await this.#deployment.begin();
    await this.#files.begin();
    await this.#busy.check('before the load');
    const others = Math.max(this.#counts.begin(workers, counted), await this.#others.begin());
    await this.#metrics.begin();
    return { workers, others };
  }

  /** @param when as in "at 1000 connections" */
  async check(when: string): Promise<void> {
    if (this.#context.signal.aborted) return;
    const workers = await this.#counts.check(when);
    this.#age.check(workers, when);
    await this.#files.check(when);
    await this.#busy.check(when);
    await this.#others.check(when);
    await this.#metrics.check(when);
    await this.checkDeployment(when);
  }

  /** As `WorkerCounts.checkEach`. */
  checkEachWorker(snapshots: Pick<EngineSnapshot, 'connected' | 'perWorker'>[]): void {
    this.#counts.checkEach(snapshots);
  }

  /** Its end is often why a run stopped early, so it is looked at then, too. */
  async checkDeployment(when: string): Promise<void> {
    await this.#deployment.check(when);
  }

  /**
   * After a planned fault.
   * @param isPlanned of a part of the deployment
   * @returns parts that were replaced as planned
   */
  async settle(isPlanned: (part: string) => boolean, when: string): Promise<string[]> {
    const replaced = await this.#deployment.settle(isPlanned);
    await this.checkDeployment(when);
    return replaced;
  }
}
