/** What a run has measured so far: the conductor writes it, `result/` turns it into the result document. */
import type { ClockLine } from '../../../protocol/base/clock/clock-line.ts';
import type { FindingCode } from '../../../protocol/codes/finding-codes.ts';
import type { Profile } from '../../../protocol/profiles/profile-schema.ts';
import type { MachineShares } from '../../../protocol/result/machine-schema.ts';
import type { MeasuredProcesses } from '../../../protocol/result/processes-schema.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { type TransportsName, transportsName } from '../../../protocol/wire/connection.ts';
import type { WorkerBatches, WorkerEventLoop, WorkerMachine, WorkerResources } from '../../../protocol/wire/events.ts';
import { roomName } from '../../../protocol/wire/rooms.ts';
import type {
  Absence,
  EndedProcess,
  FullestProcess,
  HaltedProcess,
  Inspectors,
  Readings,
} from '../../samplers/index.ts';
import type { RedisTraffic } from '../../samplers/redis/redis-sampler.ts';
import type { Repeated } from '../../script/load/flow.ts';
import type { Settings } from '../../script/settings.ts';
import type { SentBroadcast, UnconfirmedBroadcast, UnsentBroadcast } from '../broadcasts/publish.ts';
import type { EngineSnapshot, HostedRow } from '../link.ts';
import type { Echo } from '../receivers/round-trip-probe.ts';
import type { SentinelReceipts } from '../receivers/sentinel.ts';
import type { FaultMeasured } from './fault-measured.ts';
import type {
  GeneratorHost,
  GeneratorLoop,
  GeneratorWindow,
  ShareWindow,
  ThrottledWindows,
} from './generator-measured.ts';
import type { CpuWindow, Ramp, RampWindow } from './measured-windows.ts';
import type { LayerBytes, MachineMoment, OverTimeMeasured, Plateau } from './memory-measured.ts';
import { Observations } from './observations.ts';
import type { OwnEventMeasured } from './own-event-measured.ts';
import { runId } from './run-id.ts';
import type { WorkerIdentity } from './worker-identity.ts';

export interface MessagesMeasured {
  /** What the flows let their connections send. */
  readonly steps: Repeated[];
  /** Length of the measured window. */
  seconds: number;
  /** At its begin, and at the end of each of its parts. */
  unanswered: number[];
  /** Of these, passed over at the time. */
  passedOver: number[];
  /** In it, as the workers see them; empty where they do not. */
  workers: WorkerBatches[];
}

/** The adapter's Redis, during the broadcasts. */
export interface RedisMeasured {
  /** Each node of a cluster, or the one Redis. Bytes are those of the broadcasts, without the run's own requests. */
  nodes: (Omit<RedisTraffic, 'cpuUs'> & { usedMemoryBeforeBytes: number })[];
  /** What all nodes used for the broadcasts, as far as it is known what else they do. */
  cpuUs: number;
}

/** What a run plans, as far as it is measured by that. */
type Planned = Pick<Settings, 'engine' | 'target' | 'load' | 'rooms'> & {
  connection: Pick<Settings['connection'], 'transports' | 'compression'>;
};

/** A worker that restarted between two standstills. */
export interface Restart {
  evidence: string;
  /** When the new process started, on the sampler's time. */
  t?: number;
  /** Connections of the process before, when it was last asked. */
  connections?: number;
}

export interface SilentWorker {
  worker: string;
  /** Nothing listens on its control port; otherwise it may live, and only not answer. */
  isRefused: boolean;
  /** When it was last asked. */
  connections: number;
}

/** Profiles of all processes of the server while so many connections or copies were made; `failure`: why there are no further ones. */
export interface CpuProfiled {
  connect?: { profiles: Profile[]; units: number };
  copy?: { profiles: Profile[]; units: number };
  failure?: Error;
}

/** Why a run ended early, and how: virtual users that left, a stop by the user, an error, or the end of the process. */
export interface EarlyEnd {
  code: FindingCode;
  message: string;
  /** Replaces the catalogue's remedy. */
  fix?: string;
  how: 'stopped' | 'left' | 'killed' | 'failed';
}

export class Measurements {
  /** Name of the run's folder. */
  id: string;
  readonly scenario: string;
  /** The scenario's, as of `scenarioFile`. */
  file?: string;
  readonly startedAt = new Date();
  readonly engine: string;
  /** How connections begin, unless a step says otherwise. */
  readonly transports: TransportsName;
  /** Whether the connections offer it to the server. */
  readonly compression: boolean;
  /** Whether the server grants compression to a client that offers it; null if nobody asked, or could. */
  serverCompresses: boolean | null = null;
  target: string;
  profile: 'full' | 'embedded' | 'remote' = 'remote';
  /** Programs whose absence made the profile `embedded`. */
  missing: readonly string[] = [];
  /** The workers have control ports: they publish, collect their garbage, and report about themselves. */
  control = true;
  /** The inspectors of the workers, which collect their garbage in place of control ports. */
  inspectors: Pick<Inspectors, 'longestPauseMs' | 'size'> | undefined;
  /** What the connections keep, by place of allocation; or why that is unknown. Undefined if it was not asked for. */
  heapProfiles: Profile[] | Error | undefined;
  /** Where they use CPU, in windows of its own. Undefined if it was not asked for. */
  cpuProfiles: CpuProfiled | undefined;
  /** Something tells of the workers' memory. */
  memory = true;
  /** All workers run on the generator's machine: its kernel and its memory are theirs, too. */
  sharedHost = true;
  readonly targetConnections: number;
  /** Connections that must be open at the same time; null if virtual users leave by themselves. */
  readonly expectedAtOnce: number | null;
  readonly configuredRatePerSec: number | null;
  peakConnections = 0;
  /** Arrivals that Artillery did not start, because a phase's `maxVusers` were present. */
  skippedUsers = 0;
  ramps: Ramp[] = [];
  plateaus: Plateau[] = [];
  /** At full target, collected, when all broadcasts are through. */
  afterBroadcasts: LayerBytes | undefined;
  /** Just before that collection. */
  inServiceAfterBroadcasts: LayerBytes | undefined;
  /** Readings of the machine at the last moment with all connections. */
  standstill: MachineMoment | undefined;
  afterDisconnect: LayerBytes | undefined;
  /** If virtual users come and go, and memory is read again and again. */
  overTime: OverTimeMeasured | undefined;
  /** Of all figures: sources and reasons of absence. */
  lastReadings: Readings = {};
  /** Figures that are not at rest, because a worker did not make a collection that it confirmed. */
  uncollected: string[] = [];
  /** Figures that still fell when the baseline was read. */
  fallingAtBaseline: string[] = [];
  /** The hold, in parts: `idle`, or `messages` if connections send some. The broadcasts in parts, the last one with the drain. */
  cpu: {
    /** Before the first connection, in parts. */
    unloaded: CpuWindow[];
    ramps: RampWindow[];
    idle: CpuWindow[];
    messages: CpuWindow[];
    broadcasts: CpuWindow[];
  } = { unloaded: [], ramps: [], idle: [], messages: [], broadcasts: [] };
  /** One for each worker that can record it; times are on the sampler's time. */
  eventLoops: WorkerEventLoop[] = [];
  /** Zero of the sampler's time; undefined before. */
  samplesBeganAtUs: number | undefined;
  /** On the sampler's time. */
  stages: Result['stages'] = [];
  redis: RedisMeasured | undefined;
  /** Redis's CPU while connections were held; null if that was not measured. */
  redisIdleCpuUsPerSec: number | null = null;
  /** Key of the adapter's Redis stream, if it writes to one. */
  redisStream: string | undefined;
  /** In the order of `workersAtStart`. */
  clocks: ClockLine[] = [];
  sent: SentBroadcast[] = [];
  /** Broadcasts that no worker sent, and why. */
  unsent: (Pick<UnsentBroadcast, 'seq' | 'message'> & Partial<UnsentBroadcast>)[] = [];
  /** Broadcasts that no worker confirmed, and no copy of which came: whether they were sent is unknown. */
  unknown: UnconfirmedBroadcast[] = [];
  /** Set if the drain ended while copies still came: what was missing then, and how long the drain took. */
  tailCut: { copies: number; unconfirmed: number; seconds: number } | undefined;
  frozen: HostedRow[] = [];
  /** If the scenario plans one, and it has come. */
  fault: FaultMeasured | undefined;
  /** If an event of the server's own was counted in place of the contract's broadcasts. */
  ownEvent: OwnEventMeasured | undefined;
  /** If connections send messages again and again. */
  messages: MessagesMeasured | undefined;
  snapshots: EngineSnapshot[] = [];
  generator: GeneratorLoop[] = [];
  /** By worker, and for the generator by an empty name: where a quota limits its CPU time. */
  readonly throttled = new Map<string, ThrottledWindows>();
  /**
   * Kernel of a machine with workers → percent of its cores. By an empty name: of the CPUs that the generator may run on, if
   * these are not all.
   */
  readonly machineIdle = new Map<string, Partial<Record<GeneratorWindow, number>>>();
  /** As `machineIdle`, what a hypervisor took; of machines that tell. */
  readonly machineSteal = new Map<string, Partial<Record<GeneratorWindow, number>>>();
  /** Who used this machine; of several parts of a window, the one in which others took most. */
  readonly machineShares: Partial<Record<ShareWindow, MachineShares>> = {};
  /** At the end of the last window, with the highest so far of what goes up and down; of the workers that tell. */
  workerResources: WorkerResources[] = [];
  /** Kernel of a machine with workers → what node_exporter tells of it. */
  readonly exportedMachines = new Map<string, WorkerMachine>();
  /** When most files were open, of a server whose workers do not tell. */
  fullest: FullestProcess | undefined;
  /** Of probe and sentinel. It is one only: in each, they would be a large part of the members. */
  readonly receiversRoom: string;
  /** From its join on, just before the broadcasts. */
  sentinel: SentinelReceipts | undefined;
  /** Undefined if this host brings the load itself. */
  hosts: GeneratorHost[] | undefined;
  /** When the probe's connection ended before the run released it. */
  probeLeftAtUs: number | undefined;
  /** When it received its last broadcast. */
  probeReceivedAtUs: number | undefined;
  roundTripsUs: { single: number[]; underLoad: number[] } = { single: [], underLoad: [] };
  /** Which the server cannot have measured, by what the probe saw, with their bounds. `roundTripUs` may be NaN. */
  impossibleRoundTrips: {
    load: 'single' | 'underLoad';
    /** Index of the publisher. */
    via: number;
    echo: Echo;
    roundTripUs: number;
    leastUs: number;
    mostUs: number;
  }[] = [];
  /** That lie across a jump of a worker's clock. */
  jumpedRoundTrips = 0;
  /** Processes whose memory and CPU the figures are; null before they are known. */
  processes: MeasuredProcesses | null = null;
  /** Processes of the server that have ended so far, other than planned. */
  endedProcesses: () => EndedProcess[] = () => [];
  /** Times so far in which the kernel did not run a process of the deployment. */
  haltedProcesses: () => HaltedProcess[] = () => [];
  /** Source → why it could not be read when the run needed it. */
  readonly absentSources = new Map<string, Absence>();
  workersAtStart: WorkerIdentity[] = [];
  /** Restarts by worker. */
  readonly restarts = new Map<string, Restart>();
  /** Workers whose control port could not be reached when the run stopped. */
  silentWorkers: SilentWorker[] = [];
  workersAtEnd: WorkerIdentity[] = [];
  /** Outcomes of Artillery's `ensure` checks. */
  thresholds: Result['thresholds'] = [];
  readonly observations = new Observations();
  /** Set when the run ended early. */
  aborted: EarlyEnd | undefined;
  /** By Ctrl-C or SIGTERM, as `aborted` says. */
  stoppedByUser = false;

  /** @param scenario as of `scenarioName` */
  constructor(scenario: string, { engine, target, load, connection, rooms }: Planned) {
    this.id = runId(this.startedAt, scenario);
    this.scenario = scenario;
    this.engine = engine;
    this.transports = transportsName(connection.transports);
    this.compression = connection.compression ?? false;
    this.target = target;
    this.targetConnections = load.connections;
    this.expectedAtOnce = load.stays ? load.connectionsAtOnce : null;
    this.configuredRatePerSec = load.ratePerSec;
    if (load.messages.length > 0)
      this.messages = { steps: load.messages, seconds: 0, unanswered: [], passedOver: [], workers: [] };
    this.receiversRoom = roomName(rooms, 0);
  }
}

export type Collecting = Pick<Measurements, 'control'> & Partial<Pick<Measurements, 'inspectors'>>;

/** @returns whether the run forces garbage collections in the workers */
export function collects({ control, inspectors }: Collecting): boolean {
  return control || inspectors !== undefined;
}
