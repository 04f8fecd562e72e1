/** What the live page and `/metrics` show: the current state of the run, read once per second. */
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import type { Conductor } from '../run/conductor.ts';
import type { RunContext } from '../run/context.ts';
import type { GeneratorHost } from '../run/measurements/generator.ts';
import { otherReceivers } from '../run/receivers/other-receivers.ts';
import type { Sampler } from '../samplers/index.ts';
import { liveFacts } from './live-facts.ts';

export interface LiveFigures {
  run: string;
  scenario: string;
  /** Since the live view was opened. */
  seconds: number;
  stage: string;
  connections: {
    now: number;
    target: number;
    /** Virtual users that failed, by cause. */
    failed: Record<string, number>;
    /** Connections that ended before their release, by reason. */
    lost: Record<string, number>;
    ratePerSec: number;
  };
  broadcasts: {
    planned: number;
    sent: number;
    /** Receipts; null if the engine keeps no ledger, or they are not known yet. */
    expected: number | null;
    received: number | null;
    /** Latency of the latest one that the reference receiver has; null before the first. */
    sentinelMs: number | null;
  };
  /** Processes on this machine. CPU: 100 is one core. */
  layers: Record<string, { title: string; rssBytes?: number; pssBytes?: number; cpuPercent?: number }>;
  /** Whole machine. CPU: 100 is all its cores. */
  system: { usedBytes?: number; cpuPercent?: number };
  loops: LiveLoop[];
  /** Empty where this machine brings the load itself. */
  hosts: LiveHost[];
}

/** One of several hosts that bring the load. */
interface LiveHost {
  name: string;
  /** Why it is gone, if it should not be. */
  lost: string | null;
  connections: number;
  /** How late a timer of its slowest event loop was at most, in the last second. */
  loopLateMs: number;
  /** Largest possible error of a time converted from its clock; null until it is known. */
  clockBoundMs: number | null;
}

/** Event loop of a Socket.IO worker, or of the thread that conducts the run, over the last second. */
interface LiveLoop {
  name: string;
  /** 0 to 1. */
  utilization: number;
  delayP99Ms: number;
}

const RESOLUTION_MS = 10;

export class LiveReader {
  readonly #conductor: Conductor;
  readonly #context: RunContext;
  readonly #hosts: () => GeneratorHost[];
  readonly #line: ReturnType<typeof liveFacts>;
  readonly #startedMs = performance.now();
  readonly #delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  #since = performance.eventLoopUtilization();

  /** @param hosts those that bring the load, if there are several */
  constructor(conductor: Conductor, context: RunContext, hosts: () => GeneratorHost[] = () => []) {
    this.#conductor = conductor;
    this.#hosts = hosts;
    this.#context = context;
    this.#line = liveFacts(conductor, context);
    this.#delay.enable();
  }

  /** Asks each worker for its event loop; workers that do not answer are left out. Never throws. */
  async read(): Promise<LiveFigures> {
    const { measurements, sampler, ledger } = this.#context;
    const loops = await this.#loops();
    const { connected, target, failed, lost, ratePerSec, broadcasts } = this.#line();
    const sample = sampler.samples.at(-1);
    return {
      run: measurements.id,
      scenario: measurements.scenario,
      seconds: Math.round((performance.now() - this.#startedMs) / 100) / 10,
      stage: this.#conductor.stage,
      connections: { now: connected, target, failed, lost, ratePerSec },
      broadcasts: {
        planned: broadcasts.planned,
        sent: broadcasts.sent,
        expected: ledger && !measurements.ownEvent ? this.#expected() : null,
        received: ledger ? broadcasts.delivered : null,
        sentinelMs: this.#sentinelMs(),
      },
      layers: latestLayers(sampler),
      system: sample?.system ?? {},
      loops,
      hosts: this.#hosts().map((host) => this.#host(host)),
    };
  }

  close(): void {
    this.#delay.disable();
  }

  #expected(): number {
    const { measurements } = this.#context;
    return measurements.sent.reduce((sum, one) => sum + (otherReceivers(one, measurements) ?? 0), 0);
  }

  #sentinelMs(): number | null {
    const { sent, sentinel } = this.#context.measurements;
    const last = sent.findLast(({ seq }) => sentinel?.receivedAtUs.has(seq));
    return last ? ((sentinel?.receivedAtUs.get(last.seq) ?? 0) - last.intendedAtUs) / 1000 : null;
  }

  #host({ host, lost, clock }: GeneratorHost): LiveHost {
    const { connected, loopLateMs } = this.#context.link.statusOf(host);
    const clockBoundMs = clock ? clock.boundUs / 1000 : null;
    return { name: host, lost: lost ?? null, connections: connected, loopLateMs, clockBoundMs };
  }

  async #loops(): Promise<LiveLoop[]> {
    const workers = await this.#context.control.stats().catch(() => []);
    return [this.#ownLoop(), ...workers.map(({ worker, eventLoop }) => ({ name: worker, ...brief(eventLoop) }))];
  }

  #ownLoop(): LiveLoop {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, this.#since);
    const delayP99Ms = Math.max(0, this.#delay.percentile(99) / 1e6 - RESOLUTION_MS);
    this.#since = now;
    this.#delay.reset();
    return { name: 'conductor', utilization, delayP99Ms };
  }
}

/** PSS is not read for every sample; in between, it is derived. */
export function latestLayers({ layers, samples }: Pick<Sampler, 'layers' | 'samples'>): LiveFigures['layers'] {
  const newest = samples.at(-1);
  return Object.fromEntries(
    layers.flatMap(({ id, title, isProcesses }) => {
      if (!isProcesses || !newest?.[id]) return [];
      const { derivedPssBytes, ...sample } = newest[id];
      const { pssBytes = derivedPssBytes } = sample;
      return [[id, { title, ...sample, ...(pssBytes !== undefined && { pssBytes }) }]];
    }),
  );
}

function brief({ utilization, delayP99Ms }: { utilization: number; delayP99Ms: number }) {
  return { utilization, delayP99Ms };
}
