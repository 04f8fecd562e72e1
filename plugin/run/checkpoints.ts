/**
 * Checks at every standstill of a run: the workers count the connections that the generator holds, their statistics are
 * live, and the deployment is the one that the run began with. Bytes per connection are only as good as these counts.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { ReasonCode } from '../../protocol/codes/verdict-reasons.ts';
import type { WorkerStats } from '../../protocol/events.ts';
import { ownValue, sumCounts } from '../../protocol/sum-counts.ts';
import type { TargetReading } from '../samplers/index.ts';
import { addWarning, type RunContext } from './context.ts';
import type { EngineSnapshot } from './link.ts';
import { ADMIN_INTERVAL_MS } from './receivers/admin-ui.ts';
import { SamePages } from './same-pages.ts';

/** A worker can notice the end of a connection a little later than the generator. */
const AGREE_TIMEOUT_MS = 3000;
/** Of this time, the generator's count must have stayed the same for as long as the line above says. */
const STEADY_TIMEOUT_MS = 6000;
const POLL_MS = 200;
/** Of the connections, so many can be missing among the open files: others are closed meanwhile. */
const MISSING_FILES = { least: 5, share: 0.1 };
/** Statistics read this long apart differ, even if a worker rounds its uptime to seconds. */
const STALE_AFTER_MS = 2000;

/** Workers that cannot be compared one by one. */
const DOUBTED: ReasonCode[] = ['WORKERS_DISAGREE', 'WORKER_REPEATED', 'STATISTICS_STALE'];

export class Checkpoints {
  readonly #context: RunContext;
  readonly #reported = new Set<ReasonCode>();
  #deployment: Record<string, string> = {};
  /** In the order of the control URLs. */
  #uptimes = { seconds: [] as number[], readAtMs: 0 };
  /** At the last standstill: the figures of each target that answered, by its place in the options. */
  #metrics = { figures: new Map<number, string>(), connections: 0 };
  /** Open files of the server's processes before the load. */
  #filesBefore: number | undefined;
  readonly #samePages = new SamePages();
  /** Connections when the servers' own counts were last noted. */
  #noted = 0;
  /** At the last standstill: connections that the workers had accepted so far, and what the run had begun. */
  #accepted: { count: number; begun: string } | undefined;
  /** At the last standstill. */
  #counted: Counted[] = [];
  /** Connections that existed before the run; they have their own reason, BASELINE_NOT_EMPTY. */
  #others = 0;

  constructor(context: RunContext) {
    this.#context = context;
  }

  /** Before the load. @returns the workers, and how many connections are not the run's own */
  async begin(): Promise<{ workers: WorkerStats[]; others: number }> {
    const { control, deployment } = this.#context;
    const workers = await control.stats();
    this.#checkIdentities(workers);
    const counted = this.#context.adminUi?.servers() ?? workers;
    this.#uptimes = uptimesOf(counted);
    this.#deployment = await deployment();
    this.#filesBefore = await this.#context.openFiles();
    this.#others = Math.max(0, connectionsOf(counted) - this.#own());
    this.#metrics.figures = figuresOf(await this.#readMetrics('before the load'));
    return { workers, others: this.#others };
  }

  /** @param when as in "at 1000 connections" */
  async check(when: string): Promise<void> {
    const { signal } = this.#context;
    if (signal.aborted) return;
    const workers = await this.#agreement(when);
    this.#counted = workers;
    this.#noteServers(workers);
    this.#checkStrangers(workers, when);
    this.#checkAge(workers, when);
    await this.#checkOpenFiles(when);
    await this.#checkMetrics(when);
    this.#checkObservers(when);
    await this.checkDeployment(when);
  }

  /** @returns the workers' statistics when both sides agree, or the last ones */
  async #agreement(when: string): Promise<Counted[]> {
    const { control, adminUi, population, ledger, signal } = this.#context;
    const ageMs = adminUi ? ADMIN_INTERVAL_MS : 0;
    const beganMs = performance.now();
    let steady = { held: population.connections(), sinceMs: beganMs };
    for (;;) {
      const workers = adminUi?.servers() ?? (await control.stats());
      const counted = connectionsOf(workers) - this.#others - this.#own();
      const held = population.connections();
      const nowMs = performance.now();
      // Without a ledger, the workers' count is the only one there is; without workers, the fleet's.
      if (!ledger || workers.length === 0 || counted === held || signal.aborted) return workers;
      // There is nothing more to say, and the wait delays the run.
      if (this.#reported.has('WORKERS_DISAGREE')) return workers;
      if (held !== steady.held) steady = { held, sinceMs: nowMs };
      if (nowMs - steady.sinceMs > AGREE_TIMEOUT_MS + ageMs) {
        this.#disagreement(counted, held, when);
        return workers;
      }
      // Virtual users that come and go all the time never stand still, and cannot be counted at one moment.
      if (nowMs - beganMs > STEADY_TIMEOUT_MS + ageMs) return workers;
      await delay(POLL_MS);
    }
  }

  /** Each connection is an open socket in one of the server's processes, if they are all of them. */
  async #checkOpenFiles(when: string): Promise<void> {
    const { measurements, openFiles, population, signal } = this.#context;
    const before = this.#filesBefore;
    // A client that polls has a socket only while it asks.
    if (before === undefined || measurements.transports === 'polling') return;
    const deadlineMs = performance.now() + AGREE_TIMEOUT_MS;
    for (;;) {
      const now = await openFiles();
      const held = population.connections();
      if (now === undefined || held - (now - before) <= Math.max(MISSING_FILES.least, MISSING_FILES.share * held))
        return;
      if (signal.aborted || this.#reported.has('WORKERS_DISAGREE')) return;
      if (performance.now() > deadlineMs) {
        const message = `${when}, the processes of the server have ${Math.max(0, now - before)} sockets and files more than before the load, and the generator holds ${held} connections: other processes hold the rest`;
        const fix = 'name all processes of the server: those of every worker, or the one that starts them';
        this.#warn('WORKERS_DISAGREE', message, fix);
        return;
      }
      await delay(POLL_MS);
    }
  }

  #noteServers(servers: Counted[]): void {
    const { adminUi, measurements, population } = this.#context;
    if (!adminUi || population.connections() < this.#noted) return;
    this.#noted = population.connections();
    measurements.perServer = Object.fromEntries(servers.map(({ worker, connections }) => [worker, connections]));
  }

  #disagreement(counted: number, held: number, when: string): void {
    const { adminUi } = this.#context;
    const who = adminUi
      ? `the admin UI counts ${counted} connections on all servers`
      : `the workers count ${counted} connections`;
    const missing = adminUi
      ? 'call instrument() of @socket.io/admin-ui in every server, with one adapter: it reaches no others'
      : 'name every worker in `control.urls`; a worker that is missing there holds connections that nobody measures';
    const fix = counted > held ? 'measure a server that nobody else uses' : missing;
    this.#warn('WORKERS_DISAGREE', `${when}, ${who}, the generator ${held}`, fix);
  }

  /** Where the run has begun no connection since the last standstill, the workers have accepted none; others may have gone again. */
  #checkStrangers(workers: Counted[], when: string): void {
    const { started, toOpen, connected, away } = this.#context.link.status;
    const before = this.#accepted;
    const counts = workers.map(({ accepted }) => accepted).filter((count) => count !== undefined);
    if (counts.length === 0 || counts.length < workers.length) return;
    const count = counts.reduce((total, one) => total + one, 0);
    const begun = JSON.stringify([started, toOpen, connected, away, this.#own()]);
    this.#accepted = { count, begun };
    const strangers = count - (before?.count ?? count);
    // Those of an external engine, and those that come back, are not counted as begun.
    const isKnown = this.#context.config.engineOptions?.reconnection === undefined && this.#context.ledger;
    if (strangers <= 0 || before?.begun !== begun || !isKnown) return;
    const message = `until ${when.replace(/^at /, '')}, the workers accepted ${strangers} connections that the generator did not make`;
    this.#warn('WORKERS_DISAGREE', message, 'measure a server that nobody else uses');
  }

  #checkIdentities(workers: WorkerStats[]): void {
    const alike = repeated(workers.map(processOf));
    if (alike > 0) {
      const message = `${alike} of ${workers.length} control URLs lead to the same process as another one`;
      this.#warn('WORKER_REPEATED', message, 'give the control URL of every worker, and each once');
    } else if (repeated(workers.map(({ worker }) => worker)) > 0) {
      const names = workers.map(({ worker }) => worker).join(', ');
      const fix = 'give each worker a name of its own: instrument(io, {worker})';
      this.#warn('WORKER_REPEATED', `workers have the same name: ${names}`, fix);
    }
  }

  /**
   * Of each worker, against the connections whose joins name it: their sum can be right where joins name the wrong one.
   * @param snapshots taken while nothing moved since the last standstill
   */
  checkEachWorker(snapshots: Pick<EngineSnapshot, 'connected' | 'perWorker'>[]): void {
    const { adminUi, measurements, signal } = this.#context;
    const named = sumCounts(snapshots.map(({ perWorker }) => perWorker));
    const all = snapshots.reduce((total, { connected }) => total + connected, 0);
    const isKnown = Object.values(named).reduce((total, count) => total + count, 0) === all;
    if (signal.aborted || adminUi || !isKnown || DOUBTED.some((code) => this.#reported.has(code))) return;
    // Whose connections those of the run itself, and of others, are is not always known.
    const unknown = this.#own() + this.#others;
    if (connectionsOf(this.#counted) - unknown !== all) return;
    const wrong = this.#counted
      .map(({ worker, connections }) => ({ worker, connections, named: ownValue(named, worker) ?? 0 }))
      .filter(({ connections, named }) => connections < named || connections > named + unknown);
    if (wrong.length === 0) return;
    measurements.misnamed = true;
    const said = wrong.map(
      (one) => `${one.worker} counts ${one.connections} connections, joins name it for ${one.named}`,
    );
    const fix =
      'let the server acknowledge `join_room` with the worker that holds the connection, named as in `instrument(io)`';
    this.#warn('WORKERS_DISAGREE', `after the broadcasts, ${said.join('; ')}`, fix);
  }

  /** A worker that repeats old statistics describes the past. */
  #checkAge(workers: Counted[], when: string): void {
    const { seconds, readAtMs } = this.#uptimes;
    const { adminUi } = this.#context;
    if (performance.now() - readAtMs < (adminUi ? 2 * ADMIN_INTERVAL_MS : STALE_AFTER_MS)) return;
    this.#uptimes = uptimesOf(workers);
    const still = workers.filter(({ uptimeSeconds }, index) => uptimeSeconds === seconds[index]);
    if (still.length === 0) return;
    const names = still.map(({ worker }) => worker).join(', ');
    const message = adminUi
      ? `${when}, ${names} had sent the admin UI nothing new${adminUi.connected ? '' : ': the connection to it has ended'}`
      : `${when}, ${names} sent the same statistics as before`;
    this.#warn('STATISTICS_STALE', message, 'see the worker logs');
  }

  /** Twice where there are several pages, to see whether they are all of different processes. */
  async #readMetrics(when: string): Promise<TargetReading[]> {
    const { metrics } = this.#context;
    const first = (await metrics?.readEach()) ?? [];
    const targets = first.length > 1 && metrics ? await metrics.readEach() : first;
    const inTurn = targets.filter(({ alternates }) => alternates).map(({ url }) => url);
    if (inTurn.length > 0) {
      const fix = 'give each process a port of its own for its metrics, and list them all in `workers.prometheus`';
      this.#warn(
        'METRICS_ALTERNATE',
        `${when}, several processes had answered in turn at ${inTurn.join(' and ')}`,
        fix,
      );
    }
    const pairs = this.#samePages.look(first, targets);
    if (pairs.length > 0) {
      const fix = 'name the page of each process once in `workers.prometheus`';
      const urls = pairs.map((pair) => pair.join(' and ')).join('; ');
      this.#warn('WORKER_REPEATED', `two pages of metrics were of the same process at each standstill: ${urls}`, fix);
    }
    return targets;
  }

  #checkObservers(when: string): void {
    const gone = this.#context.observers?.gone() ?? [];
    if (gone.length === 0) return;
    const said = gone.map(({ url, layer, reason }) => `that of ${layer} at ${url}: ${reason}`).join('; ');
    const fix = 'let `npx socketio-capacity observe` run there during the whole run, and reach it from this machine';
    this.#warn(
      'OBSERVER_GONE',
      `${when}, an observer had gone away, and its layer is absent from then on: ${said}`,
      fix,
    );
  }

  /** Connections cost memory and CPU: metrics that stay the same to the last digit while some come are a cache's. */
  async #checkMetrics(when: string): Promise<void> {
    const targets = await this.#readMetrics(when);
    const failures = targets.flatMap(({ failure }) => failure ?? []);
    if (failures.length > 0) {
      const fix = 'see the log of what serves them, and reach it from this machine during the whole run';
      this.#warn('METRICS_GONE', `${when}, ${failures.join('; ')}`, fix);
    }
    const before = this.#metrics;
    this.#metrics = { figures: figuresOf(targets), connections: this.#context.population.connections() };
    if (before.connections === this.#metrics.connections) return;
    const still = targets.filter(
      (target, index) =>
        showsConnections(target, targets) && before.figures.get(index) === this.#metrics.figures.get(index),
    );
    if (still.length === 0) return;
    const fix = 'read the metrics of the server itself: a cache or a gateway in between repeats old ones';
    const urls = still.map(({ url }) => url).join(' and ');
    this.#warn('STATISTICS_STALE', `${when}, the metrics of ${urls} were the same as at ${before.connections}`, fix);
  }

  /**
   * After a planned fault: what it was to replace is from now on as it is now.
   * @param isPlanned of a part of the deployment
   * @returns parts that were replaced as planned
   */
  async settle(isPlanned: (part: string) => boolean, when: string): Promise<string[]> {
    const now = await this.#context.deployment();
    const replaced = this.#changed(now).filter(isPlanned);
    for (const part of replaced) this.#deployment[part] = now[part] as string;
    await this.checkDeployment(when);
    return replaced;
  }

  #changed(now: Record<string, string>): string[] {
    return Object.keys(this.#deployment).filter((part) => part in now && now[part] !== this.#deployment[part]);
  }

  /** Its end is often why a run stopped early, so it is looked at then, too. */
  async checkDeployment(when: string): Promise<void> {
    const now = await this.#context.deployment();
    const changed = this.#changed(now);
    if (changed.length === 0) return;
    this.#deployment = { ...this.#deployment, ...now };
    const message = `${when}, ${changed.join(' and ')} had been reloaded, replaced or stopped since the run began`;
    this.#warn('DEPLOYMENT_CHANGED', message, 'see its log, and leave the deployment alone during a run');
  }

  /** Reports each reason once: what is wrong at one standstill is usually wrong at the next ones, too. */
  #warn(code: ReasonCode, message: string, fix: string): void {
    if (this.#reported.has(code)) return;
    this.#reported.add(code);
    addWarning(this.#context, code, message, fix);
  }

  /** The probe's, the sentinel's, the publishers' and that to the admin UI; control connections are not among those that workers count. */
  #own(): number {
    const { probe, sentinel, publishers, adminUi } = this.#context;
    const single = [probe, sentinel, adminUi].filter((one) => one?.connected).length;
    return single + (publishers?.connected ?? 0);
  }
}

/** A worker, as it describes itself by its control port; or a server, as the admin UI has it. */
type Counted = Pick<WorkerStats, 'worker' | 'instance' | 'pid' | 'uptimeSeconds' | 'connections' | 'accepted'> & {
  host: WorkerStats['host'] | string;
};

function uptimesOf(workers: Counted[]): { seconds: number[]; readAtMs: number } {
  return { seconds: workers.map(({ uptimeSeconds }) => uptimeSeconds), readAtMs: performance.now() };
}

function figuresOf(targets: TargetReading[]): Map<number, string> {
  return new Map(
    targets.flatMap(({ reading }, index) => (reading ? [[index, JSON.stringify(reading.figures)] as const] : [])),
  );
}

/** One of several workers can be without new connections, but not without CPU time. */
function showsConnections({ reading }: TargetReading, targets: TargetReading[]): boolean {
  if (reading === undefined) return false;
  const { cpuSeconds, containerCpuSeconds = cpuSeconds } = reading.figures;
  return targets.length === 1 || containerCpuSeconds !== undefined;
}

function processOf({ host, pid, instance }: Counted): string {
  return instance ?? JSON.stringify([host, pid]);
}

/** Of each process once, however many control URLs lead to it: that has its own reason, WORKER_REPEATED. */
function connectionsOf(workers: Counted[]): number {
  const counts = new Map(workers.map((worker) => [processOf(worker), worker.connections]));
  return [...counts.values()].reduce((total, count) => total + count, 0);
}

function repeated(values: string[]): number {
  return values.length - new Set(values).size;
}
