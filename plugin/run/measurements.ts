/** What a run has measured so far: the conductor writes it, `result/` turns it into the result document. */
import { basename } from 'node:path';
import type { Reason } from '../../protocol/codes/verdict-reasons.ts';
import { type TransportsName, transportsName } from '../../protocol/connection.ts';
import type { WorkerBatches } from '../../protocol/events.ts';
import type { EngineIdentity, EventLoopHealth, FrozenBroadcast } from '../../protocol/link.ts';
import type { LatencyFrom } from '../../protocol/result/latency.ts';
import type { Result } from '../../protocol/result/result.ts';
import type { Thinned } from '../samplers/index.ts';
import type { RedisTraffic } from '../samplers/redis.ts';
import type { Repeated } from '../script/flow.ts';
import type { Settings } from '../script/settings.ts';
import type { SentBroadcast } from './broadcasts.ts';
import type { WorkerClock } from './clocks.ts';
import type { EngineSnapshot } from './link.ts';
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

export type GeneratorWindow = 'ramp' | 'messages' | 'broadcasts';

/** The event loop of one fleet process, or of one Artillery worker thread, in one window of the run. */
export interface GeneratorLoop extends EventLoopHealth {
  window: GeneratorWindow;
  part: 'fleet' | 'artillery';
  from: EngineIdentity;
  /** Number of the fleet process within its engine's fleet; 0 for the engine's own thread. */
  process: number;
}

interface WorkerIdentity {
  worker: string;
  pid: number;
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
  /** Of a copy without an id. */
  example: string | undefined;
}

/** The adapter's Redis, during the broadcasts. */
export interface RedisMeasured extends Omit<RedisTraffic, 'inBytes' | 'outBytes'> {
  /** Received and sent, without the run's own requests. */
  inBytes: number;
  outBytes: number;
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
  /** The hold, in parts: `idle`, or `messages` if connections send some. */
  cpu: { ramps: CpuWindow[]; idle: CpuWindow[]; messages: CpuWindow[]; broadcast: CpuWindow | undefined };
  /** On the sampler's time. */
  stages: Result['stages'];
  redis: RedisMeasured | undefined;
  /** In the order of `workersAtStart`. */
  clocks: WorkerClock[];
  sent: SentBroadcast[];
  /** Broadcasts that no worker sent, and why. */
  unsent: { seq: number; message: string }[];
  frozen: FrozenBroadcast[];
  /** If an event of the server's own was counted in place of the contract's broadcasts. */
  ownEvent: OwnEventMeasured | undefined;
  /** If connections send messages again and again. */
  messages: MessagesMeasured | undefined;
  snapshots: EngineSnapshot[];
  generator: GeneratorLoop[];
  /** Room of the run's own receivers, probe and sentinel. */
  readonly receiversRoom: string;
  /** From its join on, just before the broadcasts. */
  sentinel: SentinelReceipts | undefined;
  /** When the probe's connection ended before the run released it. */
  probeLeftAtUs: number | undefined;
  roundTripsUs: { single: number[]; underLoad: number[] };
  workersAtStart: WorkerIdentity[];
  workersAtEnd: WorkerIdentity[];
  /** Outcomes of Artillery's `ensure` checks. */
  thresholds: Result['thresholds'];
  /** What was noticed during the run. */
  warnings: Reason[];
  /** Set when the run ended early. */
  aborted: Reason | undefined;
}

export function newOwnEvent(
  event: string,
  idPath: string,
  publisher: OwnEventMeasured['publisher'],
  givesIds: boolean,
): OwnEventMeasured {
  const nothing = { published: 0, seen: 0, bytes: 0, skipped: 0, sentAtUnusable: undefined, example: undefined };
  return { event, idPath, publisher, givesIds, latencyFrom: 'first receipt', ...nothing };
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
    cpu: { ramps: [], idle: [], messages: [], broadcast: undefined },
    stages: [],
    redis: undefined,
    clocks: [],
    sent: [],
    unsent: [],
    frozen: [],
    ownEvent: undefined,
    messages: load.messages.length > 0 ? { steps: load.messages, seconds: 0, workers: [] } : undefined,
    snapshots: [],
    generator: [],
    receiversRoom: receiversRoom(rooms),
    sentinel: undefined,
    probeLeftAtUs: undefined,
    roundTripsUs: { single: [], underLoad: [] },
    workersAtStart: [],
    workersAtEnd: [],
    thresholds: [],
    warnings: [],
    aborted: undefined,
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
