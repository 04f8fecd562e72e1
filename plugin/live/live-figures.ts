/** What the live page and `/metrics` show: the current state of the run, read once per second. */
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import type { Conductor } from '../run/conductor.ts';
import type { RunContext } from '../run/context.ts';
import type { GeneratorHost } from '../run/measurements/generator-measured.ts';
import { loadReceivers } from '../run/receivers/load-receivers.ts';
import type { Sampler } from '../samplers/index.ts';
import { liveFacts } from './live-facts.ts';
import type { LiveFacts } from './terminal-line.ts';

/** The page shows the last second; a blocked worker is left out. */
const ANSWER_TIMEOUT_MS = 1000;

/** Keys of the result document with what they have now, and what only a run in progress has. */
export interface LiveFigures extends Pick<LiveFacts, 'stage' | 'connections'> {
  run: string;
  scenario: string;
  /** Since the live view was opened. */
  seconds: number;
  /** Receipts are null if the engine keeps no ledger, or they are not known yet. */
  delivery: { broadcasts: number; expected: number | null; received: number | null };
  /** Time until the reference receiver had the latest broadcast; null before the first. */
  latency: { sentinelMs: number | null };
  /** The newest row: processes on this machine, and the whole machine as `system`. */
  samples: { connections: number; [layer: string]: number | LiveLayer };
  /** Event loops of the workers, and of the thread that conducts the run, over the last second. */
  generator: Record<keyof LiveLoop, Record<string, number>>;
  /** Empty where this machine brings the load itself. */
  hosts: LiveHost[];
}

interface LiveLayer {
  /** Title of the process; the whole machine has none. */
  title?: string;
  rssBytes?: number;
  pssBytes?: number;
  usedBytes?: number;
  /** 100 is one core; of the whole machine, all its cores. */
  cpuPercent?: number;
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

interface LiveLoop {
  /** 0 to 1. */
  utilization: number;
  delayP99Ms: number;
}

/** @param hosts those that bring the load, if there are several */
export function liveReader(conductor: Conductor, context: RunContext, hosts: () => GeneratorHost[] = () => []) {
  const { measurements, sampler, ledger, control, link } = context;
  const startedMs = performance.now();
  const facts = liveFacts(conductor, context);
  const own = ownLoop();
  return {
    /** Asks each worker for its event loop; workers that do not answer are left out. Never throws. */
    async read(): Promise<LiveFigures> {
      const workers = await control.stats(ANSWER_TIMEOUT_MS).catch(() => []);
      const { stage, connections, broadcasts } = facts();
      const isCounted = ledger && !measurements.ownEvent;
      return {
        run: measurements.id,
        scenario: measurements.scenario,
        seconds: Math.round((performance.now() - startedMs) / 100) / 10,
        stage,
        connections,
        delivery: {
          broadcasts: broadcasts.sent,
          expected: isCounted ? expectedOf(measurements) : null,
          received: ledger ? broadcasts.received : null,
        },
        latency: { sentinelMs: sentinelMs(measurements) },
        samples: {
          ...latestLayers(sampler),
          ...{ connections: connections.now, system: sampler.samples.at(-1)?.system ?? {} },
        },
        generator: byLoop([['conductor', own.read()], ...workers.map(loopOf)]),
        hosts: hosts().map(({ host, lost = null, clock }) => {
          const { connected: connections, loopLateMs } = link.statusOf(host);
          return { name: host, lost, connections, loopLateMs, clockBoundMs: clock ? clock.boundUs / 1000 : null };
        }),
      };
    },
    close: own.close,
  };
}

type Measurements = RunContext['measurements'];

function expectedOf(measurements: Measurements): number {
  return measurements.sent.reduce((sum, one) => sum + (loadReceivers(one, measurements) ?? 0), 0);
}

function sentinelMs({ sent, sentinel }: Measurements): number | null {
  const last = sent.findLast(({ seq }) => sentinel?.receivedAtUs.has(seq));
  return last ? ((sentinel?.receivedAtUs.get(last.seq) ?? 0) - last.intendedAtUs) / 1000 : null;
}

const RESOLUTION_MS = 10;

function loopOf({ worker, eventLoop }: { worker: string; eventLoop: LiveLoop }): [string, LiveLoop] {
  return [worker, eventLoop];
}

function byLoop(loops: [string, LiveLoop][]): LiveFigures['generator'] {
  const of = (key: keyof LiveLoop) => Object.fromEntries(loops.map(([name, { [key]: value }]) => [name, value]));
  return { utilization: of('utilization'), delayP99Ms: of('delayP99Ms') };
}

/** Of this thread, since the last reading. */
function ownLoop() {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  let since = performance.eventLoopUtilization();
  delay.enable();
  return {
    read(): LiveLoop {
      const now = performance.eventLoopUtilization();
      const { utilization } = performance.eventLoopUtilization(now, since);
      const delayP99Ms = Math.max(0, delay.percentile(99) / 1e6 - RESOLUTION_MS);
      since = now;
      delay.reset();
      return { utilization, delayP99Ms };
    },
    close: () => delay.disable(),
  };
}

/** PSS is not read for every sample; in between, it is derived. */
export function latestLayers({ layers, samples }: Pick<Sampler, 'layers' | 'samples'>): Record<string, LiveLayer> {
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
