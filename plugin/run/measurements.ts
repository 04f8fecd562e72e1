/** What a run has measured so far: the conductor writes it, `result/` turns it into the result document. */
import { basename } from 'node:path';
import type { EngineIdentity, EventLoopHealth, FrozenBroadcast } from '../../protocol/link.ts';
import type { Result } from '../../protocol/result.ts';
import type { Reason } from '../../protocol/verdict-reasons.ts';
import type { Settings } from '../script/settings.ts';
import type { SentBroadcast } from './broadcasts.ts';
import type { WorkerClock } from './clocks.ts';
import type { EngineSnapshot } from './link.ts';
import type { SentinelReceipts } from './receivers/sentinel.ts';

/** Layer → bytes. */
export type LayerBytes = Record<string, number>;
/** Layer → CPU microseconds. */
export type LayerCpu = Record<string, number>;

export interface Plateau {
  connections: number;
  /** At rest. */
  layers: LayerBytes;
  /** Just before the collection; missing where nobody read it. */
  inService?: LayerBytes;
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

export type GeneratorWindow = 'ramp' | 'broadcasts';

/** The event loop of one fleet process, or of one Artillery worker thread, in one window of the run. */
export interface GeneratorLoop extends EventLoopHealth {
  window: GeneratorWindow;
  part: 'fleet' | 'artillery';
  from: EngineIdentity;
  /** Number of the fleet process within its engine's fleet; 0 for the engine's own thread. */
  process: number;
}

export interface WorkerIdentity {
  worker: string;
  pid: number;
}

export interface Measurements {
  /** Name of the run's folder. */
  id: string;
  readonly scenario: string;
  readonly startedAt: Date;
  readonly engine: string;
  target: string;
  profile: 'full' | 'embedded' | 'remote';
  /** All workers run on the generator's machine: its kernel and its memory are theirs, too. */
  sharedHost: boolean;
  /** Connections that the scenario asks for. */
  readonly targetConnections: number;
  /** Connections that must be open at the same time; null if virtual users leave by themselves. */
  readonly expectedAtOnce: number | null;
  readonly configuredRatePerSec: number | null;
  peakConnections: number;
  ramps: Ramp[];
  plateaus: Plateau[];
  /** At full target, collected, when all broadcasts are through. */
  afterBroadcasts: LayerBytes | undefined;
  /** Just before that collection. */
  inServiceAfterBroadcasts: LayerBytes | undefined;
  afterDisconnect: LayerBytes | undefined;
  absentLayers: Record<string, string>;
  /** `idle` is the hold, in parts. */
  cpu: { ramps: CpuWindow[]; idle: CpuWindow[]; broadcast: CpuWindow | undefined };
  /** On the sampler's time. */
  stages: Result['stages'];
  /** In the order of `workersAtStart`. */
  clocks: WorkerClock[];
  sent: SentBroadcast[];
  /** Broadcasts that no worker sent, and why. */
  unsent: { seq: number; message: string }[];
  frozen: FrozenBroadcast[];
  snapshots: EngineSnapshot[];
  generator: GeneratorLoop[];
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

/** @param scenario as of `scenarioName` */
export function newMeasurements(
  scenario: string,
  { engine, target, load }: Pick<Settings, 'engine' | 'target' | 'load'>,
): Measurements {
  const startedAt = new Date();
  return {
    id: runId(startedAt, scenario),
    scenario,
    startedAt,
    engine,
    target,
    profile: 'remote',
    sharedHost: true,
    targetConnections: load.connections,
    expectedAtOnce: load.stays ? load.connectionsAtOnce : null,
    configuredRatePerSec: load.ratePerSec,
    peakConnections: 0,
    ramps: [],
    plateaus: [],
    afterBroadcasts: undefined,
    inServiceAfterBroadcasts: undefined,
    afterDisconnect: undefined,
    absentLayers: {},
    cpu: { ramps: [], idle: [], broadcast: undefined },
    stages: [],
    clocks: [],
    sent: [],
    unsent: [],
    frozen: [],
    snapshots: [],
    generator: [],
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
