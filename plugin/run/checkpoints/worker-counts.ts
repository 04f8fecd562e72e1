/**
 * Compares the workers' connection counts with the connections that the generator holds, in total and for each worker.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { ownProperty, sumCounts } from '../../../protocol/base/sum-counts.ts';
import type { WorkerStats } from '../../../protocol/wire/events.ts';
import type { RunContext } from '../context.ts';
import type { EngineSnapshot } from '../link.ts';
import { type CheckMoment, WRONG_COUNTS } from '../measurements/observations.ts';
import { changesBetween, type WorkerIdentity, workerIdentityOf } from '../measurements/worker-identity.ts';
import { connectionsOfWorkers } from '../population.ts';
import { pollUntil } from '../wait.ts';
import { areCountsUnchanged, countOwnConnections, runCounts, STATUS_AGE_MS, totalCount } from './still.ts';

/** How long workers may take to notice that the generator closed connections. */
const AGREE_TIMEOUT_MS = 3000;
/** Time limit of the wait until the generator's connection count stays constant for `AGREE_TIMEOUT_MS`. */
const STEADY_TIMEOUT_MS = 6000;
/**
 * Time limit of the wait while the workers' connection count gets closer to the generator's. Closing 100,000
 * connections takes time.
 */
const NEARER_TIMEOUT_MS = 120_000;
const POLL_MS = 200;
/** Time after which a worker's uptime has changed, even if the worker rounds it to seconds. */
const STALE_AFTER_MS = 2000;

interface Comparison {
  workers: WorkerStats[];
  held: number;
  atMs: number;
}

export class WorkerCounts {
  readonly #context: RunContext;
  /** Number of connections from before the run. The run reports them as SERVER_NOT_IDLE. */
  #otherConnections = 0;
  /** Number of connections that the workers had accepted at the last check, and the run's own counts at that time. */
  #accepted: { count: number; begun: string } | undefined;
  /**
   * Number of connections that the workers had accepted at the first check after the warm-up, and number of the run's
   * own clients at that time.
   */
  #first: { count: number; own: number } | undefined;
  #counted: WorkerStats[] = [];
  /** The last statistics of each worker, to notice a worker that sends the same statistics again. */
  #uptimes = { workers: [] as WorkerStats[], readAtMs: 0 };

  constructor(context: RunContext) {
    this.#context = context;
  }

  /**
   * Waits until earlier connections have closed, for example connections of the run's checks.
   * @returns the workers, and the number of remaining connections that are not the run's
   */
  async begin(): Promise<{ workers: WorkerStats[]; others: number }> {
    const { control, signal } = this.#context;
    let workers: WorkerStats[] = [];
    let others = 0;
    const areNone = async () => {
      workers = await control.stats();
      others = Math.max(0, connectionsOfWorkers(workers) - countOwnConnections(this.#context));
      return others === 0;
    };
    await pollUntil(areNone, AGREE_TIMEOUT_MS, signal, POLL_MS);
    this.#uptimes = { workers, readAtMs: performance.now() };
    this.#otherConnections = others;
    return { workers, others };
  }

  async check(when: CheckMoment): Promise<WorkerStats[]> {
    this.#counted = await this.#agreement(when);
    await this.#checkOthers(this.#counted, when);
    this.#checkAge(this.#counted, when);
    return this.#counted;
  }

  /**
   * Waits until workers and generator count the same number of connections.
   * @returns the workers' last statistics
   */
  async #agreement(when: CheckMoment): Promise<WorkerStats[]> {
    const { control, population, ledger, measurements, signal } = this.#context;
    const beganMs = performance.now();
    let steady = { held: population.connections(), sinceMs: beganMs, isLate: false };
    let nearest = { apart: Number.POSITIVE_INFINITY, sinceMs: beganMs };
    let compared: Comparison[] = [];
    for (;;) {
      const workers = await control.stats();
      const counted = connectionsOfWorkers(workers) - this.#otherConnections - countOwnConnections(this.#context);
      const held = population.connections();
      const apart = Math.abs(counted - held);
      const nowMs = performance.now();
      // Skips the comparison if the ledger or the workers have no counts.
      if (!ledger || workers.length === 0 || counted === held || signal.aborted) return workers;
      // The wait is useless if a wrong count is already reported.
      if (measurements.observations.has(...WRONG_COUNTS, 'endsUnnoticed')) return workers;
      const moved = held !== steady.held;
      // Whether the generator's count changed after it had differed from the workers' count for too long.
      const isLate: boolean = moved && steady.isLate;
      if (moved) steady = { held, sinceMs: nowMs, isLate: false };
      if (moved || apart < nearest.apart) nearest = { apart, sinceMs: nowMs };
      const steadyMs = nowMs - steady.sinceMs;
      steady.isLate = steadyMs > AGREE_TIMEOUT_MS;
      // Latest comparison that is old enough: fleet processes and engines have reported all changes that happened
      // before it.
      const still = compared.findLast(({ atMs }) => atMs <= nowMs - STATUS_AGE_MS);
      compared = [...compared.filter(({ atMs }) => atMs >= (still?.atMs ?? 0)), { workers, held, atMs: nowMs }];
      if (isLate || nowMs - nearest.sinceMs > AGREE_TIMEOUT_MS || steadyMs > NEARER_TIMEOUT_MS) {
        if (still) await this.#disagreement(still, when);
        return workers;
      }
      // The counts are never comparable if virtual users connect and disconnect all the time.
      if (!steady.isLate && nowMs - beganMs > STEADY_TIMEOUT_MS) return workers;
      await delay(POLL_MS);
    }
  }

  async #disagreement({ workers, held }: Comparison, when: CheckMoment): Promise<void> {
    const { control, measurements } = this.#context;
    const { observations } = measurements;
    const all = connectionsOfWorkers(workers);
    const own = countOwnConnections(this.#context);
    const counted = all - this.#otherConnections - own;
    const surplus = counted - held;
    const ended = this.#ended();
    // The workers have accepted no new connection, so the surplus may consist of closed connections of the run.
    const isNoneNew = this.#accepted?.count === acceptedBy(workers);
    if (isNoneNew && surplus > 0 && ended >= surplus) {
      observations.note('endsUnnoticed', { when, connections: surplus });
      return;
    }
    // The adapter may count a worker that has no control URL.
    const isAsked = surplus < 0 && control.size > 1;
    observations.note('countsDiffer', {
      ...{ when, counted, held, all, own, ended },
      before: this.#otherConnections,
      ...this.#accounted(workers, ended),
      servers: isAsked ? await control.servers().catch(() => undefined) : undefined,
      controlled: control.size,
    });
  }

  /**
   * Compares the number of connections that workers accepted with the number that the run opened. If there was no first
   * check, other clients may have connected.
   */
  #accounted(workers: WorkerStats[], ended: number) {
    if (!this.#first) return { acceptedOthers: true, acceptedAll: false };
    const { count, own } = this.#first;
    const made = this.#context.link.status.connected + ended + Math.max(0, countOwnConnections(this.#context) - own);
    const accepted = acceptedBy(workers) - count;
    return { acceptedOthers: accepted > made, acceptedAll: accepted >= made };
  }

  /** Number of connections that have closed, plus the failed attempts that the server may have accepted late. */
  #ended(): number {
    const { link, measurements, probe } = this.#context;
    const { ended, failed } = link.status;
    const receivers = [probe.leftAtUs, measurements.sentinel?.leftAtUs].filter(Boolean).length;
    return totalCount(ended) + failed + receivers;
  }

  /**
   * Notes connections of other clients: the workers accepted connections since the last check, but the run opened none.
   */
  async #checkOthers(workers: WorkerStats[], when: CheckMoment): Promise<void> {
    const { failed } = this.#context.link.status;
    const before = this.#accepted;
    const count = acceptedBy(workers);
    const begun = runCounts(this.#context);
    this.#accepted = { count, begun };
    this.#first ??= { count, own: countOwnConnections(this.#context) };
    const others = count - (before?.count ?? count);
    // The run's counts exclude reconnects, retries and connections of an external engine, so nothing is compared.
    const { reconnection, retry } = this.#context.config.engineOptions ?? {};
    const isKnown = reconnection === undefined && retry === undefined && this.#context.ledger;
    // The server may accept a connection late, after its attempt has timed out.
    if (others <= failed || before?.begun !== begun || !isKnown) return;
    if (!(await areCountsUnchanged(this.#context, begun))) return;
    this.#context.measurements.observations.note('othersAccepted', { when, connections: others });
  }

  #checkAge(workers: WorkerStats[], when: CheckMoment): void {
    const before = this.#uptimes;
    if (performance.now() - before.readAtMs < STALE_AFTER_MS) return;
    this.#uptimes = { workers, readAtMs: performance.now() };
    const still = workers.filter(({ uptimeSeconds }, index) => uptimeSeconds === before.workers[index]?.uptimeSeconds);
    if (still.length === 0) return;
    const names = still.map(({ worker }) => worker);
    this.#context.measurements.observations.note('statisticsRepeated', { when, workers: names });
  }

  /**
   * Compares each worker's connection count with the number of join acknowledgements that name the worker. This finds
   * wrong worker names even if the sum over all workers is right.
   * @param snapshots statistics from a period in which no count changed
   */
  checkEach(snapshots: Pick<EngineSnapshot, 'connected' | 'perWorker'>[]): void {
    const { measurements, signal } = this.#context;
    const named = sumCounts(snapshots.map(({ perWorker }) => perWorker));
    const all = snapshots.reduce((total, { connected }) => total + connected, 0);
    const isKnown = Object.values(named).reduce((total, count) => total + count, 0) === all;
    // If the sum of the workers' counts is doubtful, the counts of single workers are not compared.
    const isDoubtful = measurements.observations.has(...WRONG_COUNTS, 'statisticsRepeated');
    if (signal.aborted || !isKnown || isDoubtful) return;
    // Connections whose worker the generator does not know may belong to any worker.
    const unknown = countOwnConnections(this.#context) + this.#otherConnections;
    if (connectionsOfWorkers(this.#counted) - unknown !== all) return;
    const wrong = this.#counted
      .map(({ worker, connections }) => ({ worker, connections, named: ownProperty(named, worker) ?? 0 }))
      .filter(({ connections, named }) => connections < named || connections > named + unknown);
    if (wrong.length === 0) return;
    measurements.observations.note('joinsMisnamed', { workers: wrong });
  }
}

function acceptedBy(workers: WorkerStats[]): number {
  return workers.reduce((total, { accepted }) => total + accepted, 0);
}

/**
 * Detects worker restarts at every check. If checked only at the end of a run, a new process could look like the old
 * process.
 */
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

  /**
   * @param stats statistics of the workers, in the order of the control URLs; undefined for a worker that does not
   * answer
   */
  check(stats: (WorkerStats | undefined)[]): void {
    if (this.#last.length === 0) return;
    const { measurements, sampler } = this.#context;
    const now = stats.flatMap((found, index) => (found ? workerIdentityOf(found) : (this.#last[index] ?? [])));
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
