/** What a run has measured so far: the conductor writes it, `result/` turns it into the result document. */
import { basename } from 'node:path';
import type { ClockLine } from '../../protocol/clock/clock-line.ts';
import type { Reason } from '../../protocol/codes/verdict-reasons.ts';
import { type TransportsName, transportsName } from '../../protocol/connection.ts';
import type { WorkerBatches, WorkerEventLoop, WorkerResources, WorkerStats } from '../../protocol/events.ts';
import type { FaultKind } from '../../protocol/fault.ts';
import type { EventLoopHealth } from '../../protocol/link/health.ts';
import type { EngineIdentity } from '../../protocol/link/messages.ts';
import type { LatencyFrom } from '../../protocol/result/latency.ts';
import type { Result } from '../../protocol/result/result.ts';
import type { Thinned } from '../samplers/index.ts';
import type { RedisTraffic } from '../samplers/redis.ts';
import type { Repeated } from '../script/flow.ts';
import type { Settings } from '../script/settings.ts';
import type { SentBroadcast, UnsentBroadcast } from './broadcasts.ts';
import type { EngineSnapshot, HostedRow } from './link.ts';
import type { EachBroadcast } from './own-event/rows.ts';
import type { Echo } from './receivers/probe.ts';
import { receiversRoom } from './receivers/receivers-room.ts';
import type { SentinelReceipts } from './receivers/sentinel.ts';

/** Layer → bytes. */
export type LayerBytes = Record<string, number>;
/** Layer → CPU microseconds. */
export type LayerCpu = Record<string, number>;

interface Plateau {
  connections: number;
  /** At rest. */
  layers: LayerBytes;
  /** Just before the collection; missing where nobody read it. */
  inService?: LayerBytes;
}

/** Memory at a moment of a run in which connections come and go. */
export interface MomentReading {
  /** On the sampler's time. */
  t: number;
  connections: number;
  /** Connections that had come and left by then. */
  gone: number;
  layers: LayerBytes;
}

export interface OverTimeMeasured {
  collected: boolean;
  kind: 'waves' | 'churn';
  /** When all of a wave were connected. */
  peaks: MomentReading[];
  /** When all of a wave had left; or one after the other, while virtual users come and go. */
  readings: Thinned<MomentReading>;
}

/** CPU that each layer used in one part of the run. */
export interface CpuWindow {
  seconds: number;
  cpuUs: LayerCpu;
  /** Connections made, for the ramp; messages delivered, for the broadcasts. */
  units: number;
}

/** Phases with arrivals, between two pauses. */
export interface Ramp {
  beganAtUs: number;
  /** When all had connected and joined, or time was up; infinite until then. */
  endedAtUs: number;
  /** As the phases ask for. */
  seconds: number;
  connections: number;
}

/** One of several hosts that bring the load, and what is known of it. */
export interface GeneratorHost {
  host: string;
  cores: number;
  /** Of its share. */
  arrivals: number;
  /** When its first phase began, on the run's clock. */
  beganAtUs: number | undefined;
  /** Why it was gone before the end. */
  lost: string | undefined;
  /** How far the run's clock is ahead of its own, and the largest possible error of a converted time. */
  clock: { offsetUs: number; boundUs: number } | undefined;
  /** Of all its cores, by window: the ramp in which least was idle. */
  cpuIdlePercent: Partial<Record<GeneratorWindow, number>>;
  peakBytes: { fleet: number; artillery: number; used: number | null };
}

export type GeneratorWindow = 'ramp' | 'messages' | 'broadcasts';

/** The event loop of one fleet process, or of one Artillery worker thread, in one window of the run. */
export interface GeneratorLoop extends EventLoopHealth {
  window: GeneratorWindow;
  part: 'fleet' | 'artillery';
  from: EngineIdentity;
  /** Number of the fleet process within its engine's fleet; 0 for the engine's own thread. */
  process: number;
}

/** What a quota of CPU time did in a window. */
export interface Throttled {
  /** That it is worth. */
  cores: number;
  /** In which there was something to run. */
  periods: number;
  /** Of these, those in which the quota was used up. */
  throttledPeriods: number;
  throttledMs: number;
}

export type ThrottledWindows = Partial<Record<GeneratorWindow, Throttled>>;

export interface WorkerIdentity {
  worker: string;
  pid: number;
  /** Of versions that have one. */
  instance?: string;
}

export function identityOf({ worker, pid, instance }: WorkerStats): WorkerIdentity {
  return { worker, pid, ...(instance !== undefined && { instance }) };
}

/** In containers, a process that starts anew has the same id again. */
export function isSameProcess(before: WorkerIdentity | undefined, now: WorkerIdentity): boolean {
  return before?.pid === now.pid && before.instance === now.instance;
}

/** A planned fault. */
export interface FaultMeasured {
  kind: FaultKind;
  /** The user's, if that is the fault. */
  command: string[] | undefined;
  /** On the run's clock, and on the sampler's time: just before it. */
  atUs: number;
  t: number;
  /** Until whatever caused it was done; undefined if it failed. */
  tookMs: number | undefined;
  /** When all connections were back or given up, and all workers answered; or time was up. */
  over: { atUs: number; t: number } | undefined;
  /** Parts of the deployment that it replaced, as planned. */
  replaced: string[];
  /** Workers that restarted meanwhile, and were not to, or not again. */
  restarted: string[];
  workers: { before: WorkerIdentity[]; after: WorkerIdentity[] };
  /** Connections by worker. */
  perWorker: { before: Record<string, number>; after: Record<string, number> };
}

export interface OwnEventMeasured {
  event: string;
  /** Path of its id. */
  idPath: string;
  publisher: 'run' | 'server';
  /** The publishers' ids come back. */
  givesIds: boolean;
  latencyFrom: LatencyFrom;
  /** Why the time in the payload is not used; undefined if it is, or if no option names it. */
  sentAtUnusable: string | undefined;
  /** Emitted by the run. */
  published: number;
  /** Ids of the run's broadcasts that arrived. */
  seen: number;
  /** Of the JSON of one copy. */
  bytes: number;
  /** Of these, how many were too many for the ledgers. */
  skipped: number;
  /** Whose payload has no usable time, although latency counts from those of others. */
  untimed: number;
  /** What no row tells, as rows may stand for several broadcasts; undefined until they are finalized. */
  each: EachBroadcast | undefined;
  /** Of a copy without an id. */
  example: string | undefined;
}

/** The adapter's Redis, during the broadcasts. */
export interface RedisMeasured {
  /** Each node of a cluster, or the one Redis. Bytes are those of the broadcasts, without the run's own requests. */
  nodes: (Omit<RedisTraffic, 'cpuUs'> & { usedMemoryBeforeBytes: number })[];
  /** Of all nodes, for the broadcasts, as far as it is known what else they do. */
  cpuUs: number;
}

export interface MessagesMeasured {
  /** What the flows let their connections send. */
  readonly steps: Repeated[];
  /** Of the measured window. */
  seconds: number;
  /** In it, as the workers see them; empty where they do not. */
  workers: WorkerBatches[];
}

export interface Measurements {
  /** Name of the run's folder. */
  id: string;
  readonly scenario: string;
  readonly startedAt: Date;
  readonly engine: string;
  /** How connections begin, unless a step says otherwise. */
  readonly transports: TransportsName;
  /** Whether the connections offer it to the server. */
  readonly compression: boolean;
  /** Whether the server grants compression to a client that offers it; null if nobody asked, or could. */
  serverCompresses: boolean | null;
  target: string;
  profile: 'full' | 'embedded' | 'remote';
  /** The workers have control ports: they publish, collect their garbage, and report about themselves. */
  control: boolean;
  /** Something tells of the workers' memory. */
  memory: boolean;
  /** All workers run on the generator's machine: its kernel and its memory are theirs, too. */
  sharedHost: boolean;
  /** Connections that the scenario asks for. */
  readonly targetConnections: number;
  /** Connections that must be open at the same time; null if virtual users leave by themselves. */
  readonly expectedAtOnce: number | null;
  readonly configuredRatePerSec: number | null;
  peakConnections: number;
  /** Arrivals that Artillery did not start, because a phase's `maxVusers` were present. */
  skippedUsers: number;
  /** Clients of each server by its admin UI, the run's own included, at the largest number of connections. */
  perServer: Record<string, number> | undefined;
  ramps: Ramp[];
  plateaus: Plateau[];
  /** At full target, collected, when all broadcasts are through. */
  afterBroadcasts: LayerBytes | undefined;
  /** Just before that collection. */
  inServiceAfterBroadcasts: LayerBytes | undefined;
  afterDisconnect: LayerBytes | undefined;
  /** If virtual users come and go, and memory is read again and again. */
  overTime: OverTimeMeasured | undefined;
  absentLayers: Record<string, string>;
  /** Figure → whose it is. */
  origins: Record<string, string>;
  /** Whether every worker counts its collections, so that those the run orders can be checked. */
  collectionsCounted: boolean;
  /** Figures that are not at rest, because a worker did not make a collection that it confirmed. */
  uncollected: string[];
  /** Figures that still fell when the baseline was read. */
  fallingAtBaseline: string[];
  /** The hold, in parts: `idle`, or `messages` if connections send some. The broadcasts in parts, the last one with the drain. */
  cpu: {
    /** Before the first connection, in parts. */
    unloaded: CpuWindow[];
    ramps: CpuWindow[];
    idle: CpuWindow[];
    messages: CpuWindow[];
    broadcasts: CpuWindow[];
  };
  /** Of each worker, if it can record it; times are on the sampler's time. */
  eventLoops: WorkerEventLoop[];
  /** Zero of the sampler's time; undefined before. */
  samplesBeganAtUs: number | undefined;
  /** On the sampler's time. */
  stages: Result['stages'];
  redis: RedisMeasured | undefined;
  /** Redis's CPU while connections were held; null if that was not measured. */
  redisIdleCpuUsPerSec: number | null;
  /** Key of the adapter's Redis stream, if it writes to one. */
  redisStream: string | undefined;
  /** In the order of `workersAtStart`. */
  clocks: ClockLine[];
  sent: SentBroadcast[];
  /** Broadcasts that no worker sent, and why. */
  unsent: (Pick<UnsentBroadcast, 'seq' | 'message'> & Partial<UnsentBroadcast>)[];
  frozen: HostedRow[];
  /** From all connections to the last part of them, if there were broadcasts with fewer, too. */
  byConnections: { connections: number; sent: SentBroadcast[]; frozen: HostedRow[] }[];
  /** If the scenario plans one, and it has come. */
  fault: FaultMeasured | undefined;
  /** If an event of the server's own was counted in place of the contract's broadcasts. */
  ownEvent: OwnEventMeasured | undefined;
  /** If connections send messages again and again. */
  messages: MessagesMeasured | undefined;
  snapshots: EngineSnapshot[];
  generator: GeneratorLoop[];
  /** By worker, and for the generator by an empty name: where a quota limits its CPU time. */
  readonly throttled: Map<string, ThrottledWindows>;
  /**
   * Kernel of a machine with workers → percent of its cores. By an empty name: of the CPUs that the generator may run on, if
   * these are not all.
   */
  readonly machineIdle: Map<string, Partial<Record<GeneratorWindow, number>>>;
  /** At the end of the last window, with the highest so far of what goes up and down; of the workers that tell. */
  workerResources: WorkerResources[];
  /** Room of the run's own receivers, probe and sentinel. */
  readonly receiversRoom: string;
  /** From its join on, just before the broadcasts. */
  sentinel: SentinelReceipts | undefined;
  /** Undefined if this host brings the load itself. */
  hosts: GeneratorHost[] | undefined;
  /** When the probe's connection ended before the run released it. */
  probeLeftAtUs: number | undefined;
  roundTripsUs: { single: number[]; underLoad: number[] };
  /** The worker that published each of them. */
  roundTripPublishers: { single: string[]; underLoad: string[] };
  /** Which the server cannot have measured, by what the probe saw, with their bounds. `roundTripUs` may be NaN. */
  impossibleRoundTrips: {
    load: 'single' | 'underLoad';
    /** Index of the publisher. */
    via: number;
    echo: Echo;
    roundTripUs: number;
    leastUs: number;
    mostUs: number;
  }[];
  /** That lie across a jump of a worker's clock. */
  jumpedRoundTrips: number;
  /** Joins name other workers than those that count the connections. */
  misnamed: boolean;
  workersAtStart: WorkerIdentity[];
  workersAtEnd: WorkerIdentity[];
  /** Outcomes of Artillery's `ensure` checks. */
  thresholds: Result['thresholds'];
  /** What was noticed during the run. */
  warnings: Reason[];
  /** Set when the run ended early. */
  aborted: Reason | undefined;
  /** By Ctrl-C or SIGTERM, as `aborted` says. */
  stoppedByUser: boolean;
}

export function newOwnEvent(
  event: string,
  idPath: string,
  publisher: OwnEventMeasured['publisher'],
  givesIds: boolean,
): OwnEventMeasured {
  const unknown = { sentAtUnusable: undefined, each: undefined, example: undefined };
  const nothing = { published: 0, seen: 0, bytes: 0, skipped: 0, untimed: 0 };
  return { event, idPath, publisher, givesIds, latencyFrom: 'first receipt', ...nothing, ...unknown };
}

/** @param scenario as of `scenarioName` */
export function newMeasurements(
  scenario: string,
  {
    engine,
    target,
    load,
    connection,
    rooms,
  }: Pick<Settings, 'engine' | 'target' | 'load' | 'rooms'> & {
    connection: Pick<Settings['connection'], 'transports' | 'compression'>;
  },
): Measurements {
  const startedAt = new Date();
  return {
    id: runId(startedAt, scenario),
    scenario,
    startedAt,
    engine,
    transports: transportsName(connection.transports),
    compression: connection.compression ?? false,
    serverCompresses: null,
    target,
    profile: 'remote',
    control: true,
    memory: true,
    sharedHost: true,
    targetConnections: load.connections,
    expectedAtOnce: load.stays ? load.connectionsAtOnce : null,
    configuredRatePerSec: load.ratePerSec,
    peakConnections: 0,
    skippedUsers: 0,
    perServer: undefined,
    ramps: [],
    plateaus: [],
    afterBroadcasts: undefined,
    inServiceAfterBroadcasts: undefined,
    afterDisconnect: undefined,
    overTime: undefined,
    absentLayers: {},
    origins: {},
    collectionsCounted: false,
    uncollected: [],
    fallingAtBaseline: [],
    cpu: { unloaded: [], ramps: [], idle: [], messages: [], broadcasts: [] },
    eventLoops: [],
    samplesBeganAtUs: undefined,
    stages: [],
    redis: undefined,
    redisIdleCpuUsPerSec: null,
    redisStream: undefined,
    clocks: [],
    sent: [],
    unsent: [],
    frozen: [],
    byConnections: [],
    fault: undefined,
    ownEvent: undefined,
    messages: load.messages.length > 0 ? { steps: load.messages, seconds: 0, workers: [] } : undefined,
    snapshots: [],
    generator: [],
    throttled: new Map(),
    machineIdle: new Map(),
    workerResources: [],
    receiversRoom: receiversRoom(rooms),
    sentinel: undefined,
    hosts: undefined,
    probeLeftAtUs: undefined,
    roundTripsUs: { single: [], underLoad: [] },
    roundTripPublishers: { single: [], underLoad: [] },
    impossibleRoundTrips: [],
    jumpedRoundTrips: 0,
    misnamed: false,
    workersAtStart: [],
    workersAtEnd: [],
    thresholds: [],
    warnings: [],
    aborted: undefined,
    stoppedByUser: false,
  };
}

/** @param scenario as of `scenarioName` */
export function runId(startedAt: Date, scenario: string): string {
  return `${startedAt.toISOString().replace(/[:.]/g, '-').slice(0, 19)}-${scenario}`;
}

/** @returns name of the scenario's file, without its ending */
export function scenarioName(path: string): string {
  return basename(path).replace(/\.(ya?ml|json)$/, '');
}
