/** Compares the connections that workers count, in total and each, with the connections that the generator holds. */
import { setTimeout as delay } from 'node:timers/promises';
import { ownValue, sumCounts } from '../../../protocol/base/sum-counts.ts';
import type { WorkerStats } from '../../../protocol/wire/events.ts';
import type { RunContext } from '../context.ts';
import type { EngineSnapshot } from '../link.ts';
import { type Moment, WRONG_COUNTS } from '../measurements/observations.ts';
import { changesBetween, identityOf, type WorkerIdentity } from '../measurements/worker-identity.ts';
import { connectionsOf } from '../population.ts';
import { until } from '../wait.ts';
import { areUnchanged, runConnections, runCounts, STATUS_AGE_MS, totalOf } from './still.ts';

/** How long workers may lag behind the generator when connections close. */
const AGREE_TIMEOUT_MS = 3000;
/** Time limit for the generator's count to stay the same for `AGREE_TIMEOUT_MS`. */
const STEADY_TIMEOUT_MS = 6000;
/** How long the workers' count may keep approaching the generator's: closing 100,000 connections takes time. */
const NEARER_TIMEOUT_MS = 120_000;
const POLL_MS = 200;
/** After this time, the uptime has changed even if a worker rounds it to seconds. */
const STALE_AFTER_MS = 2000;

interface Comparison {
  workers: WorkerStats[];
  held: number;
  atMs: number;
}

export class WorkerCounts {
  readonly #context: RunContext;
  /** Connections from before the run, which are reported as SERVER_NOT_IDLE. */
  #otherConnections = 0;
  /** Connections that the workers had accepted at the last check, and the run's own counts then. */
  #accepted: { count: number; begun: string } | undefined;
  /** Connections that the workers had accepted at the first check, after the warm-up, and connections of the run's clients then. */
  #first: { count: number; own: number } | undefined;
  #counted: WorkerStats[] = [];
  /** The last statistics, to notice a worker that repeats them. */
  #uptimes = { workers: [] as WorkerStats[], readAtMs: 0 };

  constructor(context: RunContext) {
    this.#context = context;
  }

  /**
   * Waits for earlier connections to close, such as connections of the run's checks.
   * @returns the workers, and how many connections remain that are not the run's own
   */
  async begin(): Promise<{ workers: WorkerStats[]; others: number }> {
    const { control, signal } = this.#context;
    let workers: WorkerStats[] = [];
    let others = 0;
    const areNone = async () => {
      workers = await control.stats();
      others = Math.max(0, connectionsOf(workers) - runConnections(this.#context));
      return others === 0;
    };
    await until(areNone, AGREE_TIMEOUT_MS, signal, POLL_MS);
    this.#uptimes = { workers, readAtMs: performance.now() };
    this.#otherConnections = others;
    return { workers, others };
  }

  async check(when: Moment): Promise<WorkerStats[]> {
    this.#counted = await this.#agreement(when);
    await this.#checkOthers(this.#counted, when);
    this.#checkAge(this.#counted, when);
    return this.#counted;
  }

  /** Waits until workers and generator agree. @returns the workers' last statistics */
  async #agreement(when: Moment): Promise<WorkerStats[]> {
    const { control, population, ledger, measurements, signal } = this.#context;
    const beganMs = performance.now();
    let steady = { held: population.connections(), sinceMs: beganMs, isLate: false };
    let nearest = { apart: Number.POSITIVE_INFINITY, sinceMs: beganMs };
    let compared: Comparison[] = [];
    for (;;) {
      const workers = await control.stats();
      const counted = connectionsOf(workers) - this.#otherConnections - runConnections(this.#context);
      const held = population.connections();
      const apart = Math.abs(counted - held);
      const nowMs = performance.now();
      // Ledger and workers are both needed for a comparison.
      if (!ledger || workers.length === 0 || counted === held || signal.aborted) return workers;
      // A disagreement is already noted.
      if (measurements.observations.has(...WRONG_COUNTS, 'endsUnnoticed')) return workers;
      const moved = held !== steady.held;
      // The generator went on while the workers were still catching up after the usual time.
      const isLate: boolean = moved && steady.isLate;
      if (moved) steady = { held, sinceMs: nowMs, isLate: false };
      if (moved || apart < nearest.apart) nearest = { apart, sinceMs: nowMs };
      const steadyMs = nowMs - steady.sinceMs;
      steady.isLate = steadyMs > AGREE_TIMEOUT_MS;
      // The latest comparison that is old enough for all changes of that time to have been reported.
      const still = compared.findLast(({ atMs }) => atMs <= nowMs - STATUS_AGE_MS);
      compared = [...compared.filter(({ atMs }) => atMs >= (still?.atMs ?? 0)), { workers, held, atMs: nowMs }];
      if (isLate || nowMs - nearest.sinceMs > AGREE_TIMEOUT_MS || steadyMs > NEARER_TIMEOUT_MS) {
        if (still) await this.#disagreement(still, when);
        return workers;
      }
      // If virtual users connect and disconnect all the time, the counts are never comparable.
      if (!steady.isLate && nowMs - beganMs > STEADY_TIMEOUT_MS) return workers;
      await delay(POLL_MS);
    }
  }

  async #disagreement({ workers, held }: Comparison, when: Moment): Promise<void> {
    const { control, measurements } = this.#context;
    const { observations } = measurements;
    const all = connectionsOf(workers);
    const own = runConnections(this.#context);
    const counted = all - this.#otherConnections - own;
    const surplus = counted - held;
    const ended = this.#ended();
    // The workers accepted no connection since they last agreed, so the surplus may be closed connections of the run.
    const isNoneNew = this.#accepted?.count === acceptedBy(workers);
    if (isNoneNew && surplus > 0 && ended >= surplus) {
      observations.note('endsUnnoticed', { when, connections: surplus });
      return;
    }
    // The adapter may know of a worker that the run does not.
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
   * Compares connections that the workers accepted with connections that the run made. If there was no first check, other clients may have
   * connected.
   */
  #accounted(workers: WorkerStats[], ended: number) {
    if (!this.#first) return { acceptedOthers: true, acceptedAll: false };
    const { count, own } = this.#first;
    const made = this.#context.link.status.connected + ended + Math.max(0, runConnections(this.#context) - own);
    const accepted = acceptedBy(workers) - count;
    return { acceptedOthers: accepted > made, acceptedAll: accepted >= made };
  }

  /** Connections that closed by the run's own counts, and failed attempts, which the server may have accepted late. */
  #ended(): number {
    const { link, measurements, probe } = this.#context;
    const { ended, failed } = link.status;
    const receivers = [probe.leftAtUs, measurements.sentinel?.leftAtUs].filter(Boolean).length;
    return totalOf(ended) + failed + receivers;
  }

  /** Notes connections of other clients: connections that workers accepted although the run opened none since the last check. */
  async #checkOthers(workers: WorkerStats[], when: Moment): Promise<void> {
    const { failed } = this.#context.link.status;
    const before = this.#accepted;
    const count = acceptedBy(workers);
    const begun = runCounts(this.#context);
    this.#accepted = { count, begun };
    this.#first ??= { count, own: runConnections(this.#context) };
    const others = count - (before?.count ?? count);
    // The run's counts exclude reconnects, retries and connections of an external engine.
    const { reconnection, retry } = this.#context.config.engineOptions ?? {};
    const isKnown = reconnection === undefined && retry === undefined && this.#context.ledger;
    // The server may accept an attempt after it has timed out.
    if (others <= failed || before?.begun !== begun || !isKnown) return;
    if (!(await areUnchanged(this.#context, begun))) return;
    this.#context.measurements.observations.note('othersAccepted', { when, connections: others });
  }

  #checkAge(workers: WorkerStats[], when: Moment): void {
    const before = this.#uptimes;
    if (performance.now() - before.readAtMs < STALE_AFTER_MS) return;
    this.#uptimes = { workers, readAtMs: performance.now() };
    const still = workers.filter(({ uptimeSeconds }, index) => uptimeSeconds === before.workers[index]?.uptimeSeconds);
    if (still.length === 0) return;
    const names = still.map(({ worker }) => worker);
    this.#context.measurements.observations.note('statisticsRepeated', { when, workers: names });
  }

  /**
   * Compares each worker's count with the connections whose joins name it. The sum can be right even if joins name a wrong worker.
   * @param snapshots taken while no count changed since the last check
   */
  checkEach(snapshots: Pick<EngineSnapshot, 'connected' | 'perWorker'>[]): void {
    const { measurements, signal } = this.#context;
    const named = sumCounts(snapshots.map(({ perWorker }) => perWorker));
    const all = snapshots.reduce((total, { connected }) => total + connected, 0);
    const isKnown = Object.values(named).reduce((total, count) => total + count, 0) === all;
    // If a count is doubtful, single workers cannot be compared.
    const isDoubtful = measurements.observations.has(...WRONG_COUNTS, 'statisticsRepeated');
    if (signal.aborted || !isKnown || isDoubtful) return;
    // The workers that hold these connections are not always known.
    const unknown = runConnections(this.#context) + this.#otherConnections;
    if (connectionsOf(this.#counted) - unknown !== all) return;
    const wrong = this.#counted
      .map(({ worker, connections }) => ({ worker, connections, named: ownValue(named, worker) ?? 0 }))
      .filter(({ connections, named }) => connections < named || connections > named + unknown);
    if (wrong.length === 0) return;
    measurements.observations.note('joinsMisnamed', { workers: wrong });
  }
}

function acceptedBy(workers: WorkerStats[]): number {
  return workers.reduce((total, { accepted }) => total + accepted, 0);
}

/** Detects worker restarts at every check: at the end of a run, a new process may look like the old one. */
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
