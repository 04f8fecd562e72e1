/** What the workers count, against what the generator holds: all together, and each worker; and whether they count now. */
import { setTimeout as delay } from 'node:timers/promises';
import { ownValue, sumCounts } from '../../../protocol/base/sum-counts.ts';
import type { WorkerStats } from '../../../protocol/wire/events.ts';
import type { RunContext } from '../context.ts';
import type { EngineSnapshot } from '../link.ts';
import { type Moment, WRONG_COUNTS } from '../measurements/observations.ts';
import { connectionsOf } from '../population.ts';
import { until } from '../wait.ts';
import { ownConnections, ownCounts, STATUS_AGE_MS, stoodStill, totalOf } from './still.ts';

/** A worker can notice the end of a connection a little later than the generator. */
const AGREE_TIMEOUT_MS = 3000;
/** Within this time, the generator's count must stay the same for as long as the line above says. */
const STEADY_TIMEOUT_MS = 6000;
/** Workers that close 100,000 connections come nearer to the generator's count for as long as that takes. */
const NEARER_TIMEOUT_MS = 120_000;
const POLL_MS = 200;
/** Statistics read this long apart differ, even if a worker rounds its uptime to seconds. */
const STALE_AFTER_MS = 2000;

interface Comparison {
  workers: WorkerStats[];
  /** Connections of the generator at that time. */
  held: number;
  atMs: number;
}

export class WorkerCounts {
  readonly #context: RunContext;
  /** Connections that existed before the run; they have their own reason, SERVER_NOT_IDLE. */
  #others = 0;
  /** At the last standstill: connections that the workers had accepted so far, and what the run had begun. */
  #accepted: { count: number; begun: string } | undefined;
  /** At the first standstill, after the warm-up. */
  #first: { count: number; own: number } | undefined;
  /** At the last standstill. */
  #counted: WorkerStats[] = [];
  /** To tell whether a worker repeats old statistics, which describe the past. */
  #uptimes = { workers: [] as WorkerStats[], readAtMs: 0 };

  constructor(context: RunContext) {
    this.#context = context;
  }

  /**
   * Waits for connections to go that may be the run's own, such as those of its checks.
   * @returns the workers, and how many of their connections are not the run's own
   */
  async begin(): Promise<{ workers: WorkerStats[]; others: number }> {
    const { control, signal } = this.#context;
    let workers: WorkerStats[] = [];
    let others = 0;
    const areNone = async () => {
      workers = await control.stats();
      others = Math.max(0, connectionsOf(workers) - ownConnections(this.#context));
      return others === 0;
    };
    await until(areNone, AGREE_TIMEOUT_MS, signal, POLL_MS);
    this.#uptimes = { workers, readAtMs: performance.now() };
    this.#others = others;
    return { workers, others };
  }

  /** @returns the workers' statistics */
  async check(when: Moment): Promise<WorkerStats[]> {
    this.#counted = await this.#agreement(when);
    await this.#checkStrangers(this.#counted, when);
    this.#checkAge(this.#counted, when);
    return this.#counted;
  }

  /** @returns the workers' statistics when both sides agree, or the last ones */
  async #agreement(when: Moment): Promise<WorkerStats[]> {
    const { control, population, ledger, measurements, signal } = this.#context;
    const beganMs = performance.now();
    let steady = { held: population.connections(), sinceMs: beganMs, isLate: false };
    let nearest = { apart: Number.POSITIVE_INFINITY, sinceMs: beganMs };
    let compared: Comparison[] = [];
    for (;;) {
      const workers = await control.stats();
      const counted = connectionsOf(workers) - this.#others - ownConnections(this.#context);
      const held = population.connections();
      const apart = Math.abs(counted - held);
      const nowMs = performance.now();
      // Without a ledger, the workers' count is the only one there is; without workers, the fleet's.
      if (!ledger || workers.length === 0 || counted === held || signal.aborted) return workers;
      // There is nothing more to say, and the wait delays the run.
      if (measurements.observations.has(...WRONG_COUNTS, 'endsUnnoticed')) return workers;
      const moved = held !== steady.held;
      // Whoever came nearer for longer than the usual time had not agreed when the generator went on.
      const isLate: boolean = moved && steady.isLate;
      if (moved) steady = { held, sinceMs: nowMs, isLate: false };
      if (moved || apart < nearest.apart) nearest = { apart, sinceMs: nowMs };
      const steadyMs = nowMs - steady.sinceMs;
      steady.isLate = steadyMs > AGREE_TIMEOUT_MS;
      // The latest comparison that no connection disturbed which the generator has begun meanwhile.
      const still = compared.findLast(({ atMs }) => atMs <= nowMs - STATUS_AGE_MS);
      compared = [...compared.filter(({ atMs }) => atMs >= (still?.atMs ?? 0)), { workers, held, atMs: nowMs }];
      if (isLate || nowMs - nearest.sinceMs > AGREE_TIMEOUT_MS || steadyMs > NEARER_TIMEOUT_MS) {
        if (still) await this.#disagreement(still, when);
        return workers;
      }
      // Virtual users that come and go all the time never stand still, and cannot be counted at one moment.
      if (!steady.isLate && nowMs - beganMs > STEADY_TIMEOUT_MS) return workers;
      await delay(POLL_MS);
    }
  }

  async #disagreement({ workers, held }: Comparison, when: Moment): Promise<void> {
    const { control, measurements } = this.#context;
    const { observations } = measurements;
    const all = connectionsOf(workers);
    const own = ownConnections(this.#context);
    const counted = all - this.#others - own;
    const surplus = counted - held;
    const ended = this.#ended();
    // Since they last agreed, they have accepted nobody: what they count too many may be some of ours that have ended.
    const isNoneNew = this.#accepted?.count === acceptedBy(workers);
    if (isNoneNew && surplus > 0 && ended >= surplus) {
      observations.note('endsUnnoticed', { when, connections: surplus });
      return;
    }
    // An adapter that counts the servers would know of a worker that the run does not.
    const isAsked = surplus < 0 && control.size > 1;
    observations.note('countsDiffer', {
      ...{ when, counted, held, all, own, ended },
      before: this.#others,
      ...this.#accounted(workers, ended),
      servers: isAsked ? await control.servers().catch(() => undefined) : undefined,
      controlled: control.size,
    });
  }

  /** Compares what the workers accepted with what the run made; where it is not known, others may have connected. */
  #accounted(workers: WorkerStats[], ended: number) {
    if (!this.#first) return { acceptedOthers: true, acceptedAll: false };
    const { count, own } = this.#first;
    const made = this.#context.link.status.connected + ended + Math.max(0, ownConnections(this.#context) - own);
    const accepted = acceptedBy(workers) - count;
    return { acceptedOthers: accepted > made, acceptedAll: accepted >= made };
  }

  /** Connections that ended by the run's own counts, and attempts without an answer, which the server may have accepted later. */
  #ended(): number {
    const { link, measurements, probe } = this.#context;
    const { ended, failed } = link.status;
    const receivers = [probe.leftAtUs, measurements.sentinel?.leftAtUs].filter(Boolean).length;
    return totalOf(ended) + failed + receivers;
  }

  /** Where the run has begun no connection since the last standstill, the workers have accepted none; others may have gone again. */
  async #checkStrangers(workers: WorkerStats[], when: Moment): Promise<void> {
    const { failed } = this.#context.link.status;
    const before = this.#accepted;
    const count = acceptedBy(workers);
    const begun = ownCounts(this.#context);
    this.#accepted = { count, begun };
    this.#first ??= { count, own: ownConnections(this.#context) };
    const strangers = count - (before?.count ?? count);
    // Those of an external engine, those that come back, and repeated attempts are not counted as begun.
    const { reconnection, retry } = this.#context.config.engineOptions ?? {};
    const isKnown = reconnection === undefined && retry === undefined && this.#context.ledger;
    // An attempt that timed out may be accepted later.
    if (strangers <= failed || before?.begun !== begun || !isKnown) return;
    if (!(await stoodStill(this.#context, begun))) return;
    this.#context.measurements.observations.note('othersAccepted', { when, connections: strangers });
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
   * Checks each worker against the connections whose joins name it: their sum can be right where joins name the wrong one.
   * @param snapshots taken while nothing moved since the last standstill
   */
  checkEach(snapshots: Pick<EngineSnapshot, 'connected' | 'perWorker'>[]): void {
    const { measurements, signal } = this.#context;
    const named = sumCounts(snapshots.map(({ perWorker }) => perWorker));
    const all = snapshots.reduce((total, { connected }) => total + connected, 0);
    const isKnown = Object.values(named).reduce((total, count) => total + count, 0) === all;
    // Workers of which one is doubted cannot be compared one by one.
    const isDoubted = measurements.observations.has(...WRONG_COUNTS, 'statisticsRepeated');
    if (signal.aborted || !isKnown || isDoubted) return;
    // Whose connections those of the run itself, and of others, are is not always known.
    const unknown = ownConnections(this.#context) + this.#others;
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
