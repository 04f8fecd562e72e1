/** Everything that a run has measured so far. The conductor writes it; `plugin/result/` makes the result document from it. */

import type { ClockLine } from '../../../protocol/base/clock/clock-line.ts';
import type { FindingCode } from '../../../protocol/codes/finding-codes.ts';
import type { EventCounts } from '../../../protocol/link/time-series.ts';
import type { Profile } from '../../../protocol/profiles/profile-schema.ts';
import type { MachineShares } from '../../../protocol/result/machine-schema.ts';
import type { Result } from '../../../protocol/result/result.ts';
import type { MeasuredProcesses } from '../../../protocol/result/server-schema.ts';
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
import type { Restart, SilentWorker, WorkerIdentity } from './worker-identity.ts';

export interface MessagesMeasured {
  /** The flows' `every` steps. */
  readonly steps: Repeated[];
  /** Length of the measured window. */
  seconds: number;
  /** Messages without an acknowledgement, at the start of the window and at the end of each part. */
  unanswered: number[];
  /** Messages among `unanswered` whose connection received an acknowledgement of a later message, or never any. */
  passedOver: number[];
  /** The workers' counts in the window; empty without control ports. */
  workers: WorkerBatches[];
}

/** The adapter's Redis, during the broadcasts. */
export interface RedisMeasured {
  /** Traffic of each node, without the run's own requests. */
  nodes: (Omit<RedisTraffic, 'cpuUs'> & { usedMemoryBeforeBytes: number })[];
  /** CPU time of all nodes, less their idle CPU and the run's own requests. */
  cpuUs: number;
}

/** Settings that the measurements include. */
type Planned = Pick<Settings, 'engine' | 'target' | 'load' | 'rooms'> & {
  usersLeave?: boolean;
  connection: Pick<Settings['connection'], 'transports' | 'compression'>;
};

/**
 * CPU profiles of all processes of the server, with the connections or copies made during the profile; `failure`: why some profiles are
 * missing.
 */
export interface CpuProfiled {
  connect?: { profiles: Profile[]; units: number };
  copy?: { profiles: Profile[]; units: number };
  failure?: Error;
}

/** Why and how a run ended early. */
export interface EarlyEnd {
  code: FindingCode;
  message: string;
  /** Fix that replaces the catalogue's. */
  fix?: string;
  how: 'stopped' | 'left' | 'killed' | 'failed';
}

export class Measurements {
  /** Name of the run's folder. */
  id: string;
  readonly scenario: string;
  /** The scenario's file, see `scenarioFile`. */
  file?: string;
  readonly startedAt = new Date();
  readonly engine: string;
  /** Transports with which connections begin, unless a step overrides them. */
  readonly transports: TransportsName;
  /** Whether the connections offer compression. */
  readonly compression: boolean;
  /** Whether the server grants compression to a client that offers it; null if unknown. */
  serverCompresses: boolean | null = null;
  target: string;
  profile: 'full' | 'embedded' | 'remote' = 'remote';
  /** Programs whose absence made the profile `embedded`. */
  missing: readonly string[] = [];
  /** Whether the workers have control ports. */
  control = true;
  /** Inspectors of the workers, which force collections in place of control ports. */
  inspectors: Pick<Inspectors, 'longestPauseMs' | 'size' | 'runtime'> | undefined;
  /** Memory of connections by place of allocation, or why it is unknown. Undefined unless configured. */
  heapProfiles: Profile[] | Error | undefined;
  /** CPU use of connects and copies. Undefined unless configured. */
  cpuProfiles: CpuProfiled | undefined;
  /** Whether any source reads the workers' memory. */
  memory = true;
  /** Whether all workers run on the generator's machine. */
  sharedHost = true;
  /** All arrivals, or the arrivals that Artillery chose for this engine. */
  targetConnections: number;
  /** Connections that must be open at the same time; null if virtual users disconnect by themselves. */
  expectedAtOnce: number | null;
  configuredRatePerSec: number | null;
  /** All virtual users leave by themselves, and the run measures while they connect and disconnect. */
  readonly usersLeave: boolean;
  peakConnections = 0;
  /** Arrivals that Artillery skipped because of a phase's `maxVusers`. */
  skippedUsers = 0;
  ramps: Ramp[] = [];
  plateaus: Plateau[] = [];
  /** Memory at rest after the drain, with all connections. */
  afterBroadcasts: LayerBytes | undefined;
  /** Memory just before that collection. */
  inServiceAfterBroadcasts: LayerBytes | undefined;
  /** Memory of the machine just before the connections close. */
  standstill: MachineMoment | undefined;
  afterDisconnect: LayerBytes | undefined;
  /** Readings of a run with waves or churn. */
  overTime: OverTimeMeasured | undefined;
  /** The last readings of all figures, with sources and reasons of absence. */
  lastReadings: Readings = {};
  /** Figures that include garbage because a worker did not make a collection that it confirmed. */
  uncollected: string[] = [];
  /** Figures that were still falling when the baseline was read. */
  fallingAtBaseline: string[] = [];
  /**
   * CPU windows, each in parts. The hold is `idle`, or `messages` if connections send some. The last part of `broadcasts` includes
   * the drain.
   */
  cpu: {
    /** Windows before the first connection. */
    unloaded: CpuWindow[];
    ramps: RampWindow[];
    idle: CpuWindow[];
    messages: CpuWindow[];
    broadcasts: CpuWindow[];
  } = { unloaded: [], ramps: [], idle: [], messages: [], broadcasts: [] };
  /** Event loops of the workers that can record them. */
  eventLoops: WorkerEventLoop[] = [];
  /** Zero of the sampler's time; undefined before the sampler starts. */
  samplesBeganAtUs: number | undefined;
  /** Starts of the stages, in seconds of the sampler. */
  stages: Result['stages'] = [];
  redis: RedisMeasured | undefined;
  /** Redis's CPU while connections were held; null if not measured. */
  redisIdleCpuUsPerSec: number | null = null;
  /** Key of the adapter's Redis stream, if it writes to one. */
  redisStream: string | undefined;
  /** The workers' clocks, in the order of `workersAtStart`. */
  clocks: ClockLine[] = [];
  sent: SentBroadcast[] = [];
  /** Broadcasts that were not sent, and why. */
  unsent: (Pick<UnsentBroadcast, 'seq' | 'message'> & Partial<UnsentBroadcast>)[] = [];
  /** Broadcasts without confirmation and without copies: whether they were sent is unknown. */
  unknown: UnconfirmedBroadcast[] = [];
  /** Missing copies and confirmations, and the length of the drain, if copies still arrived when it ended. */
  tailCut: { copies: number; unconfirmed: number; seconds: number } | undefined;
  frozen: HostedRow[] = [];
  /** The planned fault, once it has begun. */
  fault: FaultMeasured | undefined;
  /** Measurements of the server's own event; undefined if the contract's broadcasts are counted. */
  ownEvent: OwnEventMeasured | undefined;
  /** Measurements of repeated messages; undefined unless the flows have `every` steps. */
  messages: MessagesMeasured | undefined;
  /** Copies of events without ids while all were connected. */
  eventCounts:
    | {
        seconds: number;
        counts: EventCounts[];
        /** Rise of the server’s counters by event; null where a page has none. */
        counters: Record<string, number | null>;
        /** Events whose copies are made of the connections' messages. */
        fromUsers: string[];
      }
    | undefined;
  snapshots: EngineSnapshot[] = [];
  generator: GeneratorLoop[] = [];
  /** CPU throttling by worker name; the generator's key is an empty name. */
  readonly throttled = new Map<string, ThrottledWindows>();
  /**
   * Idle percentage of the workers' machines, by kernel. The empty key has the CPUs that the generator may run on, if these are
   * not all.
   */
  readonly machineIdle = new Map<string, Partial<Record<GeneratorWindow, number>>>();
  /** Steal percentage, with the keys of `machineIdle`. */
  readonly machineSteal = new Map<string, Partial<Record<GeneratorWindow, number>>>();
  /** CPU use of this machine; of several parts of a window, the one in which other programs used most. */
  readonly machineShares: Partial<Record<ShareWindow, MachineShares>> = {};
  /** Resources of the workers at the end of the last window, with the highest open files and memory so far. */
  workerResources: WorkerResources[] = [];
  /** The workers' machines as node_exporter reports them, by kernel. */
  readonly exportedMachines = new Map<string, WorkerMachine>();
  /** The process with the most open files, for a server without control ports. */
  fullest: FullestProcess | undefined;
  /** Room of the probe and the reference receiver. They join no other room, because they would be a large part of its members. */
  readonly receiversRoom: string;
  /** Receipts of the reference receiver, which joins just before the broadcasts. */
  sentinel: SentinelReceipts | undefined;
  /** The generator's hosts; undefined if this host generates the load itself. */
  hosts: GeneratorHost[] | undefined;
  /** When the probe's connection closed, unless the run closed it. */
  probeLeftAtUs: number | undefined;
  /** When the probe received its last broadcast. */
  probeReceivedAtUs: number | undefined;
  roundTripsUs: { single: number[]; underLoad: number[] } = { single: [], underLoad: [] };
  /** Round trips that contradict the probe's own times, with the bounds that these times set. `roundTripUs` may be NaN. */
  impossibleRoundTrips: {
    load: 'single' | 'underLoad';
    /** Index of the worker that published. */
    via: number;
    echo: Echo;
    roundTripUs: number;
    leastUs: number;
    mostUs: number;
  }[] = [];
  /** Number of round trips during which a worker's clock jumped. */
  jumpedRoundTrips = 0;
  /** The measured processes; null while unknown. */
  processes: MeasuredProcesses | null = null;
  /** Processes of the server that have exited so far, except by a planned fault. */
  endedProcesses: () => EndedProcess[] = () => [];
  /** Periods so far in which a process of the deployment was halted. */
  haltedProcesses: () => HaltedProcess[] = () => [];
  /** Absences of sources that could not be read when the run needed them, by source. */
  readonly absentSources = new Map<string, Absence>();
  workersAtStart: WorkerIdentity[] = [];
  /** Restarts by worker name. */
  readonly restarts = new Map<string, Restart>();
  /** Workers that did not answer when the run stopped. */
  silentWorkers: SilentWorker[] = [];
  workersAtEnd: WorkerIdentity[] = [];
  /** Outcomes of Artillery's `ensure` checks. */
  thresholds: Result['thresholds'] = [];
  readonly observations = new Observations();
  aborted: EarlyEnd | undefined;
  /** Whether the user stopped the run by Ctrl-C or SIGTERM. */
  stoppedByUser = false;

  /** @param scenario see `scenarioName` */
  constructor(scenario: string, { engine, target, load, connection, rooms, usersLeave = false }: Planned) {
    this.id = runId(this.startedAt, scenario);
    this.scenario = scenario;
    this.engine = engine;
    this.transports = transportsName(connection.transports);
    this.compression = connection.compression ?? false;
    this.target = target;
    this.targetConnections = load.connections;
    this.expectedAtOnce = load.stays ? load.connectionsAtOnce : null;
    this.configuredRatePerSec = load.ratePerSec;
    this.usersLeave = usersLeave;
    if (load.messages.length > 0)
      this.messages = { steps: load.messages, seconds: 0, unanswered: [], passedOver: [], workers: [] };
    this.receiversRoom = roomName(rooms, 0);
  }
}
