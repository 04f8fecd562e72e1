/**
 * Figures of a run in progress, for the live view's web page, its `/metrics` and the status line on the terminal. They
 * are read once per second.
 */
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { lostByReason } from '../result/assemble-connections.ts';
import type { Conductor } from '../run/conductor.ts';
import type { RunContext } from '../run/context.ts';
import type { GeneratorHost } from '../run/measurements/generator-measured.ts';
import { membersWithoutOwnClients } from '../run/receivers/members-without-own-clients.ts';
import type { Sampler } from '../samplers/index.ts';
import { totalSeconds } from '../script/load/phases.ts';
import type { LiveFacts } from './terminal-line.ts';

/**
 * Milliseconds that a worker of the server has to answer. A blocked worker is left out, so that it does not delay the
 * live view.
 */
const ANSWER_TIMEOUT_MS = 1000;

/** Current values of figures that are also in the result, and figures that exist only during a run. */
export interface LiveFigures extends Pick<LiveFacts, 'stage' | 'connections'> {
  run: string;
  scenario: string;
  /** Seconds since the live view was opened. */
  seconds: number;
  /**
   * `expected` and `received` are null without a ledger. `expected` is also null if the run counts the server's own
   * event.
   */
  delivery: { broadcasts: number; expected: number | null; received: number | null };
  /** Latency of the last broadcast at the reference receiver, in milliseconds; null before the first broadcast. */
  latency: { sentinelMs: number | null };
  /** Newest memory and CPU sample of the processes on this machine, by layer, and of the whole machine as `system`. */
  samples: { connections: number; [layer: string]: number | LiveLayer };
  /** Figures of the event loops in the last second: of Artillery's workers, and of the thread that conducts the run. */
  generator: Record<keyof LiveLoop, Record<string, number>>;
  /** Generator hosts; empty if this machine generates the load itself. */
  hosts: LiveHost[];
}

interface LiveLayer {
  /** Title of the layer in the live view; undefined for the whole machine. */
  title?: string;
  rssBytes?: number;
  pssBytes?: number;
  usedBytes?: number;
  /** CPU usage in percent of one core; for the whole machine, in percent of all cores. */
  cpuPercent?: number;
}

/** A generator host, in a run over several hosts. */
interface LiveHost {
  name: string;
  /** Reason why the host no longer takes part in the run; null while it does. */
  lost: string | null;
  connections: number;
  /** Largest delay of a timer in the host's slowest event loop in the last second, in milliseconds. */
  loopLateMs: number;
  /**
   * Largest possible error in milliseconds of times that are converted from the host's clock; null until it has been
   * measured.
   */
  clockBoundMs: number | null;
}

interface LiveLoop {
  /** Event loop utilization, from 0 to 1. */
  utilization: number;
  delayP99Ms: number;
}

/**
 * Returns a reader for the figures of a run in progress.
 * @param hosts returns the generator hosts of a run over several hosts
 */
export function createLiveReader(conductor: Conductor, context: RunContext, hosts: () => GeneratorHost[] = () => []) {
  const { measurements, sampler, ledger, control, link } = context;
  const startedMs = performance.now();
  const facts = createLiveFactsReader(conductor, context);
  const own = ownLoop();
  return {
    /** Reads all figures of the live view. Workers that do not answer in time are left out. Never throws. */
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
          ...latestLayerSamples(sampler),
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
  return measurements.sent.reduce(
    (sum, broadcast) => sum + (membersWithoutOwnClients(broadcast, measurements) ?? 0),
    0,
  );
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

/** Measures the event loop of this thread. Each call of `read` covers the time since the previous call. */
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

/**
 * Returns the newest memory and CPU sample of each layer. Contains an estimate of PSS if the sample was taken without
 * PSS.
 */
export function latestLayerSamples({
  layers,
  samples,
}: Pick<Sampler, 'layers' | 'samples'>): Record<string, LiveLayer> {
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

/**
 * Estimated duration in seconds of all stages whose duration is not a setting: final plateau, drain, disconnect and
 * residual.
 */
const MEASURING_SECONDS = 12;
/** Milliseconds over which the rate of new connections is computed. */
const RATE_WINDOW_MS = 900;

type StageStart = Pick<Measurements['stages'][number], 'name' | 't'>;

/** Planned durations of the parts of a run, in seconds. */
interface PlannedSeconds {
  phases: number;
  /** Time until the last virtual user has left, if the users leave by themselves. */
  leave: number;
  hold: number;
  broadcasts: number;
}

/**
 * Returns a function that computes the planned seconds until the end of the run. The count begins anew with the first
 * phase, the hold, the broadcasts and the drain, because the stages before them may have taken longer than planned. It
 * does not run during the warm-up, whose duration depends on the server.
 */
export function createTimeLeft({ phases, leave, hold, broadcasts }: PlannedSeconds) {
  const afterPhases = leave + hold + broadcasts + MEASURING_SECONDS;
  const inPhases = { part: 'phases', seconds: phases + afterPhases };
  const inBroadcasts = { part: 'broadcasts', seconds: broadcasts + MEASURING_SECONDS };
  const parts: Partial<Record<string, typeof inPhases>> = {
    ...{ ramp: inPhases, plateau: inPhases, wave: inPhases, churn: inPhases },
    hold: { part: 'hold', seconds: hold + broadcasts + MEASURING_SECONDS },
    ...{ broadcasts: inBroadcasts, fault: inBroadcasts },
    drain: { part: 'drain', seconds: MEASURING_SECONDS },
  };
  const partOf = ({ name }: StageStart) => parts[name];
  return (stages: StageStart[], atSeconds: number): number => {
    const latest = stages.findLast(partOf);
    const current = latest && partOf(latest);
    const began = stages.find((stage) => current && partOf(stage)?.part === current.part);
    return current && began ? current.seconds - (atSeconds - began.t) : inPhases.seconds;
  };
}

export function createLiveFactsReader(
  conductor: Conductor,
  { measurements, config, link, population, sampler }: RunContext,
): () => LiveFacts {
  const startedMs = performance.now();
  const { delivery, broadcasts } = config;
  const planned = delivery ? (delivery.publish?.count ?? 0) : broadcasts.count;
  const seconds = delivery?.seconds ?? planned * broadcasts.interval;
  const { staySeconds } = config.load;
  // If virtual users leave by themselves, the run lasts until the last one has left, without hold and broadcasts.
  const secondsLeft = createTimeLeft({
    phases: totalSeconds(config.phases),
    hold: config.usersLeave ? 0 : config.hold,
    broadcasts: config.usersLeave ? 0 : seconds,
    leave: config.usersLeave && Number.isFinite(staySeconds) ? staySeconds : 0,
  });
  let last = { connections: 0, atMs: startedMs };
  let ratePerSec = 0;
  return () => {
    const { stage } = conductor;
    const now = population.connections();
    // `reached` counts only first copies of broadcasts. `received` also includes other messages with the same event
    // name.
    const { started, failures, ended, reached } = link.status;
    const target = config.otherEngines.length > 0 ? started : measurements.targetConnections;
    const nowMs = performance.now();
    if (nowMs - last.atMs > RATE_WINDOW_MS) {
      ratePerSec = ((now - last.connections) * 1000) / (nowMs - last.atMs);
      last = { connections: now, atMs: nowMs };
    }
    return {
      stage,
      connections: {
        ...{ now, target, failures, lost: lostByReason(ended) },
        achievedRatePerSec: stage === 'ramp' ? ratePerSec : 0,
      },
      broadcasts: { planned, sent: measurements.sent.length, received: reached },
      secondsLeft: secondsLeft(measurements.stages, sampler.seconds()),
    };
  };
}
