/**
 * Checks at every standstill of a run: the workers count the connections that the generator holds, their statistics are
 * live, and the deployment is the one that the run began with. Bytes per connection are only as good as these counts.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { WorkerStats } from '../../protocol/events.ts';
import type { ReasonCode } from '../../protocol/verdict-reasons.ts';
import { addWarning, type RunContext } from './context.ts';

/** A worker can notice the end of a connection a little later than the generator. */
const AGREE_TIMEOUT_MS = 3000;
const POLL_MS = 200;
/** Statistics read this long apart differ, even if a worker rounds its uptime to seconds. */
const STALE_AFTER_MS = 2000;

export class Checkpoints {
  readonly #context: RunContext;
  readonly #reported = new Set<ReasonCode>();
  #deployment: Record<string, string> = {};
  /** In the order of the control URLs. */
  #uptimes = { seconds: [] as number[], readAtMs: 0 };
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
    this.#uptimes = uptimesOf(workers);
    this.#deployment = await deployment();
    this.#others = Math.max(0, sum(workers.map(({ connections }) => connections)) - this.#own());
    return { workers, others: this.#others };
  }

  /** @param when as in "at 1000 connections" */
  async check(when: string): Promise<void> {
    const { signal } = this.#context;
    if (signal.aborted) return;
    const workers = await this.#agreement(when);
    this.#checkAge(workers, when);
    await this.#checkDeployment(when);
  }

  /** @returns the workers' statistics when both sides agree, or the last ones */
  async #agreement(when: string): Promise<WorkerStats[]> {
    const { control, population, ledger, signal } = this.#context;
    const deadlineMs = performance.now() + AGREE_TIMEOUT_MS;
    for (;;) {
      const workers = await control.stats();
      const counted = sum(workers.map(({ connections }) => connections)) - this.#others - this.#own();
      const held = population.connections();
      // Without a ledger, the workers' count is the only one there is.
      if (!ledger || counted === held || signal.aborted) return workers;
      if (performance.now() > deadlineMs) {
        this.#disagreement(counted, held, when);
        return workers;
      }
      await delay(POLL_MS);
    }
  }

  #disagreement(counted: number, held: number, when: string): void {
    const fix =
      counted > held
        ? 'measure a server that nobody else uses'
        : 'name every worker in `control.urls`; a worker that is missing there holds connections that nobody measures';
    this.#warn('WORKERS_DISAGREE', `${when}, the workers count ${counted} connections, the generator ${held}`, fix);
  }

  #checkIdentities(workers: WorkerStats[]): void {
    const process = ({ host, pid }: WorkerStats) => JSON.stringify([host, pid]);
    const alike = repeated(workers.map(process));
    if (alike > 0) {
      const message = `${alike} of ${workers.length} control URLs lead to the same process as another one`;
      this.#warn('WORKER_REPEATED', message, 'give the control URL of every worker, and each once');
    } else if (repeated(workers.map(({ worker }) => worker)) > 0) {
      const names = workers.map(({ worker }) => worker).join(', ');
      const fix = 'give each worker a name of its own: instrument(io, {worker})';
      this.#warn('WORKER_REPEATED', `workers have the same name: ${names}`, fix);
    }
  }

  /** A worker that repeats old statistics describes the past. */
  #checkAge(workers: WorkerStats[], when: string): void {
    const { seconds, readAtMs } = this.#uptimes;
    if (performance.now() - readAtMs < STALE_AFTER_MS) return;
    this.#uptimes = uptimesOf(workers);
    const still = workers.filter(({ uptimeSeconds }, index) => uptimeSeconds === seconds[index]);
    if (still.length === 0) return;
    const names = still.map(({ worker }) => worker).join(', ');
    this.#warn('STATISTICS_STALE', `${when}, ${names} sent the same statistics as before`, 'see the worker logs');
  }

  async #checkDeployment(when: string): Promise<void> {
    const now = await this.#context.deployment();
    const changed = Object.keys(this.#deployment).filter((part) => part in now && now[part] !== this.#deployment[part]);
    if (changed.length === 0) return;
    this.#deployment = now;
    const message = `${when}, ${changed.join(' and ')} had been replaced or reloaded since the run began`;
    this.#warn('DEPLOYMENT_CHANGED', message, 'see its log, and leave the deployment alone during a run');
  }

  /** Reports each reason once: what is wrong at one standstill is usually wrong at the next ones, too. */
  #warn(code: ReasonCode, message: string, fix: string): void {
    if (this.#reported.has(code)) return;
    this.#reported.add(code);
    addWarning(this.#context, code, message, fix);
  }

  /** The probe's and the sentinel's; control connections are not among those that workers count. */
  #own(): number {
    const { probe, sentinel } = this.#context;
    return Number(probe.connected) + Number(sentinel?.connected ?? false);
  }
}

function uptimesOf(workers: WorkerStats[]): { seconds: number[]; readAtMs: number } {
  return { seconds: workers.map(({ uptimeSeconds }) => uptimeSeconds), readAtMs: performance.now() };
}

function repeated(values: string[]): number {
  return values.length - new Set(values).size;
}

function sum(values: number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
