/**
 * Everything that a run has measured so far. The conductor fills it in; `plugin/result/` builds the result document
 * from it.
 */

import type { ClockLine } from '../../../protocol/base/clock/clock-line.ts';
import type { FindingCode } from '../../../protocol/codes/finding-codes.ts';
import type { EventCounts } from '../../../protocol/link/time-series.ts';
import type { V8Profile } from '../../../protocol/profiles/profile-schema.ts';
import type { MachineShares } from '../../../protocol/result/machine-schema.ts';
import type { HostTraffic } from '../../../protocol/result/redis-schema.ts';
import type { Result } from '../../../protocol/result/result.ts';
import type { MeasuredProcesses } from '../../../protocol/result/server-schema.ts';
import { type TransportsName, transportsName } from '../../../protocol/wire/connection.ts';
import type { WorkerBatches, WorkerEventLoop, WorkerMachine, WorkerResources } from '../../../protocol/wire/events.ts';
import { roomName } from '../../../protocol/wire/rooms.ts';
import type {
  EndedProcess,
  FigureReadings,
  FullestProcess,
  HaltedProcess,
  Inspectors,
  SourceAbsence,
} from '../../samplers/index.ts';
import type { RedisTraffic } from '../../samplers/redis/redis-sampler.ts';
import type { RepeatedFlowMessage } from '../../script/load/flow.ts';
import type { Settings } from '../../script/settings.ts';
import type { SentBroadcast, UnconfirmedBroadcast, UnsentBroadcast } from '../broadcasts/publish.ts';
import type { EngineSnapshot, HostedRow } from '../link.ts';
import type { ReferenceReceipts } from '../receivers/reference-receiver.ts';
import type { ProbeEcho } from '../receivers/round-trip-probe.ts';
import type { FaultMeasured } from './fault-measured.ts';
import type {
  GeneratorHost,
  GeneratorLoop,
  GeneratorWindow,
  ShareWindow,
  ThrottledWindows,
} from './generator-measured.ts';
import type { CpuWindow, Ramp, RampWindow } from './measured-windows.ts';
import type { LayerBytes, MachineMemoryReading, OverTimeMeasured, Plateau } from './memory-measured.ts';
import { Observations } from './observations.ts';
import type { OwnEventMeasured } from './own-event-measured.ts';
import { createRunId } from './run-id.ts';
import type { Restart, SilentWorker, WorkerIdentity } from './worker-identity.ts';

export interface MessagesMeasured {
  /** The `every` steps in the flows of all scenarios. */
  readonly steps: RepeatedFlowMessage[];
  /** Length of the measurement window in seconds. */
  seconds: number;
  /**
   * Number of messages without an acknowledgement, at the start of the measurement window and at the end of each of its
   * parts.
   */
  unanswered: number[];
  /**
   * Number of unacknowledged messages that the server will probably never acknowledge: it acknowledged a later message
   * of the same connection, or no message of the connection at all.
   */
  skippedByServer: number[];
  /** The workers' own message counts in the window; empty without control ports. */
  workers: WorkerBatches[];
}

/** Load that the broadcasts put on the adapter's Redis. */
export interface RedisMeasured {
  /** Traffic of each Redis node, excluding the run's own requests. */
  nodes: (Omit<RedisTraffic, 'cpuUs'> & { usedMemoryBeforeBytes: number })[];
  /** CPU time of all Redis nodes, excluding their idle CPU use and the run's own requests. */
  cpuUs: number;
  /** Traffic of each worker host with Redis, excluding the run's own requests; undefined if unknown. */
  hosts?: HostTraffic[] | undefined;
}

/** The settings that a run's measurements need. */
type Planned = Pick<Settings, 'engine' | 'target' | 'load' | 'rooms'> & {
  usersLeave?: boolean;
  connection: Pick<Settings['connection'], 'transports' | 'compression'>;
};

/**
 * CPU profiles of all processes of the server. `units`: number of connections or copies during the profile. `failure`:
 * why some profiles are missing.
 */
export interface CpuProfiled {
  connect?: { profiles: V8Profile[]; units: number };
  copy?: { profiles: V8Profile[]; units: number };
  failure?: Error;
}

/** How and why a run ended early. */
export interface EarlyEnd {
  code: FindingCode;
  message: string;
  /** Fix to suggest instead of the fix in the error catalogue. */
  fix?: string;
  how: 'stopped' | 'left' | 'killed' | 'failed';
}

export class Measurements {
  /** Name of the run's folder. */
  id: string;
  readonly scenario: string;
  /** Path of the scenario, see `scenarioFile`. */
  file?: string;
  readonly startedAt = new Date();
  readonly engine: string;
  /** Transports with which connections begin, if no step changes them. */
  readonly transports: TransportsName;
  /** Whether the clients offer compression. */
  readonly compression: boolean;
  /** Whether the server grants compression to a client that offers it; null if unknown. */
  serverCompresses: boolean | null = null;
  target: string;
  profile: 'full' | 'embedded' | 'remote' = 'remote';
  /** Programs that are not installed, so that the profile is `embedded`. */
  missing: readonly string[] = [];
  /** Whether the workers have control ports. */
  control = true;
  /** Inspectors of the workers. The run forces garbage collections through them if there are no control ports. */
  inspectors: Pick<Inspectors, 'longestPauseMs' | 'size' | 'runtime'> | undefined;
  /**
   * Memory of connections by the code that allocated it. If the heap profiles failed, the error. Undefined unless
   * configured.
   */
  heapProfiles: V8Profile[] | Error | undefined;
  /** CPU use of connects and of copies, by function. Undefined unless configured. */
  cpuProfiles: CpuProfiled | undefined;
  /** Whether any source reads the workers' memory. */
  memory = true;
  /** Whether all workers run on the generator's machine. */
  sharedHost = true;
  /** Number of arrivals that this engine plays: all arrivals, unless Artillery also uses other engines. */
  targetConnections: number;
  /** Connections that must be open at the same time; null if virtual users disconnect by themselves. */
  expectedAtOnce: number | null;
  configuredRatePerSec: number | null;
  /** Whether all virtual users leave by themselves. The run then measures while users connect and disconnect. */
  readonly usersLeave: boolean;
  peakConnections = 0;
  /** Arrivals that Artillery skipped because of a phase's `maxVusers`. */
  skippedUsers = 0;
  ramps: Ramp[] = [];
  plateaus: Plateau[] = [];
  /** Memory after the drain and a garbage collection, while all connections are open. */
  afterBroadcasts: LayerBytes | undefined;
  /** Memory just before the garbage collection after the drain. */
  inServiceAfterBroadcasts: LayerBytes | undefined;
  /** Memory of the machine just before the connections close. */
  standstill: MachineMemoryReading | undefined;
  afterDisconnect: LayerBytes | undefined;
  /** Memory readings of a run with waves, or with users that connect and disconnect all the time. */
  overTime: OverTimeMeasured | undefined;
  /** The last reading of each memory figure, with its source or the reason why it is absent. */
  lastReadings: FigureReadings = {};
  /** Memory figures that include garbage, because a worker confirmed a garbage collection without making it. */
  uncollected: string[] = [];
  /** Memory figures that were still falling when the baseline was read. */
  fallingAtBaseline: string[] = [];
  /**
   * CPU time by measurement window, divided into parts. The hold is stored as `messages` if connections send messages,
   * otherwise as `idle`. The last part of `broadcasts` includes the drain.
   */
  cpu: {
    /** CPU windows before the first connection. */
    unloaded: CpuWindow[];
    ramps: RampWindow[];
    idle: CpuWindow[];
    messages: CpuWindow[];
    broadcasts: CpuWindow[];
  } = { unloaded: [], ramps: [], idle: [], messages: [], broadcasts: [] };
  /** Event loop delays of the workers, if the workers can record them. */
  eventLoops: WorkerEventLoop[] = [];
  /** Start of the sampler, from which its times count; undefined before the start. */
  samplesBeganAtUs: number | undefined;
  /** Starts of the run's stages, in seconds since the start of the sampler. */
  stages: Result['stages'] = [];
  redis: RedisMeasured | undefined;
  /** Redis's CPU use while connections were held, in microseconds per second; null if not measured. */
  redisIdleCpuUsPerSec: number | null = null;
  /** Key of the Redis stream to which the adapter writes, if there is one. */
  redisStream: string | undefined;
  /** The workers' clocks, in the order of `workersAtStart`. */
  clocks: ClockLine[] = [];
  sent: SentBroadcast[] = [];
  /** Broadcasts that were not sent, each with the reason. */
  unsent: (Pick<UnsentBroadcast, 'seq' | 'message'> & Partial<UnsentBroadcast>)[] = [];
  /** Broadcasts without confirmation and without copies: whether they were sent is unknown. */
  unknown: UnconfirmedBroadcast[] = [];
  /**
   * Numbers of missing copies and confirmations at the end of the drain, and length of the drain. Only set if copies
   * still arrived when the drain ended.
   */
  tailCut: { copies: number; unconfirmed: number; seconds: number } | undefined;
  frozen: HostedRow[] = [];
  fault: FaultMeasured | undefined;
  /** Measurements of the server's own event; undefined if the contract's broadcasts are counted. */
  ownEvent: OwnEventMeasured | undefined;
  /** Measurements of repeated messages; undefined unless the flows have `every` steps. */
  messages: MessagesMeasured | undefined;
  /** Number of received copies of events without ids, while all connections were open. */
  eventCounts:
    | {
        seconds: number;
        counts: EventCounts[];
        /** Increase of the server's counters, by event; null if a metrics page does not have the counter. */
        counters: Record<string, number | null>;
        /** Events that the server sends in response to messages from the connections themselves. */
        fromUsers: string[];
      }
    | undefined;
  snapshots: EngineSnapshot[] = [];
  generator: GeneratorLoop[] = [];
  /** CPU throttling by name of the worker. The empty name stands for the generator. */
  readonly throttled = new Map<string, ThrottledWindows>();
  /**
   * Idle CPU percentage of the workers' machines, by kernel id. The empty key stands for the CPUs that the generator
   * may use; it is missing if the generator may use all CPUs.
   */
  readonly machineIdle = new Map<string, Partial<Record<GeneratorWindow, number>>>();
  /** Percentage of CPU time that the hypervisor took, with the same keys as `machineIdle`. */
  readonly machineSteal = new Map<string, Partial<Record<GeneratorWindow, number>>>();
  /**
   * CPU use on this machine by measurement window. If a window has several parts, the part in which other programs used
   * the most CPU is kept.
   */
  readonly machineShares: Partial<Record<ShareWindow, MachineShares>> = {};
  /**
   * Resources of the workers at the end of the last measurement window. Open files and memory are the highest values so
   * far.
   */
  workerResources: WorkerResources[] = [];
  /** Readings of the workers' machines from node_exporter, by kernel id. */
  readonly exportedMachines = new Map<string, WorkerMachine>();
  /** The process with the most open files. Only for a server without control ports. */
  fullest: FullestProcess | undefined;
  /** Room that only the probe and the reference receiver join, so that other rooms have no extra members. */
  readonly receiversRoom: string;
  /** Receipts of the reference receiver. It joins just before the broadcasts. */
  sentinel: ReferenceReceipts | undefined;
  /** The generator's hosts; undefined if this host alone generates the load. */
  hosts: GeneratorHost[] | undefined;
  /** When the probe's connection closed; undefined if the run closed it. */
  probeLeftAtUs: number | undefined;
  /** When the probe received its latest broadcast. */
  probeReceivedAtUs: number | undefined;
  roundTripsUs: { single: number[]; underLoad: number[] } = { single: [], underLoad: [] };
  /**
   * Round trips that contradict the probe's own times, with the lower and the upper limit that these times allow.
   * `roundTripUs` may be NaN.
   */
  impossibleRoundTrips: {
    load: 'single' | 'underLoad';
    /** Index of the worker that published the broadcast. */
    via: number;
    echo: ProbeEcho;
    roundTripUs: number;
    leastUs: number;
    mostUs: number;
  }[] = [];
  /** Number of round trips during which a worker's clock jumped. */
  jumpedRoundTrips = 0;
  /** The processes of the deployment that the run measures; null while unknown. */
  processes: MeasuredProcesses | null = null;
  /** Returns the server's processes that have exited so far, except processes that a planned fault ended. */
  endedProcesses: () => EndedProcess[] = () => [];
  /** Returns the periods so far in which a process of the deployment was halted. */
  haltedProcesses: () => HaltedProcess[] = () => [];
  /** Reasons why sources of figures could not be read when the run needed them, by source. */
  readonly absentSources = new Map<string, SourceAbsence>();
  workersAtStart: WorkerIdentity[] = [];
  readonly restarts = new Map<string, Restart>();
  /** Workers that did not answer at the end of the run. */
  silentWorkers: SilentWorker[] = [];
  workersAtEnd: WorkerIdentity[] = [];
  /** Results of Artillery's `ensure` checks. */
  thresholds: Result['thresholds'] = [];
  readonly observations = new Observations();
  aborted: EarlyEnd | undefined;
  /** Whether the user stopped the run with Ctrl-C or SIGTERM. */
  stoppedByUser = false;

  /** @param scenario name of the scenario, see `scenarioName` */
  constructor(scenario: string, { engine, target, load, connection, rooms, usersLeave = false }: Planned) {
    this.id = createRunId(this.startedAt, scenario);
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
      this.messages = { steps: load.messages, seconds: 0, unanswered: [], skippedByServer: [], workers: [] };
    this.receiversRoom = roomName(rooms, 0);
  }
}
