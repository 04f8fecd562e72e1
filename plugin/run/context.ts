/** Resources that all measuring code of a run shares. Types omit the methods that open and close them. */

import type { Inspectors, RedisReader, Sampler, TargetReading } from '../samplers/index.ts';
import type { Settings } from '../script/settings.ts';
import type { EngineLink } from './link.ts';
import type { Measurements } from './measurements/measurements.ts';
import type { Holder } from './measurements/memory-measured.ts';
import type { DeploymentPart } from './measurements/worker-identity.ts';
import type { Population } from './population.ts';
import type { Publishers } from './receivers/publishers.ts';
import type { Probe } from './receivers/round-trip-probe.ts';
import type { RunClients } from './receivers/run-clients.ts';
import type { Sentinel } from './receivers/sentinel.ts';
import type { Collector, Control } from './target/control-client.ts';
import type { Target } from './target/target.ts';
import type { WorkerClocks } from './target/worker-clocks.ts';
import type { ResourceWindows } from './windows/resource-windows.ts';

export interface RunContext {
  config: Settings;
  measurements: Measurements;
  link: Omit<EngineLink, 'onFailed' | 'ready' | 'start' | 'close'>;
  control: Omit<Control, 'close'>;
  /** Forces garbage collections by control ports or inspectors; without either, it does nothing. */
  collector: Collector;
  /** Takes profiles by control ports or inspectors; undefined unless the run takes any. */
  profiler: Pick<Inspectors, 'startProfiles' | 'takeProfiles'> | undefined;
  /** `close` ends its time series. */
  sampler: Pick<Sampler, keyof Sampler>;
  resources: Pick<ResourceWindows, 'begin' | 'end'>;
  probe: Omit<Probe, 'close'>;
  /** The reference receiver; undefined if there are no receivers to compare with. */
  sentinel: (Pick<Sentinel, 'join' | 'connected'> & Partial<Pick<Sentinel, 'ending'>>) | undefined;
  /** Publishers of the server's own event; undefined unless the run publishes it. */
  publishers:
    | Pick<
        Publishers,
        | 'publish'
        | 'connected'
        | 'givesIds'
        | 'prefix'
        | 'acknowledged'
        | 'ackErrors'
        | 'unacknowledged'
        | 'clients'
        | 'givesRooms'
        | 'publishTrial'
      >
    | undefined;
  /** The run's own clients. */
  clients: Pick<RunClients, 'nextTemporary' | 'nextReceiver' | 'areUsers'>;
  population: Omit<Population, 'close'>;
  /** Reads the parts of the deployment by name; unknown parts are missing. */
  deployment(): Promise<Record<string, DeploymentPart>>;
  /** Records which processes are measured now. */
  noteProcesses?(): Promise<void>;
  /** Reads processes outside the layers that may hold memory; undefined if the machine's memory is not compared. */
  holders?(): Promise<Holder[]>;
  target: Pick<Target, 'openFiles' | 'fullest' | 'connections' | 'stack'>;
  /** The adapter's Redis; undefined if unknown. */
  redis: Pick<RedisReader, 'answers' | 'traffic' | 'absence' | 'name'> | undefined;
  /** The metrics pages that the run reads, by layer. */
  metrics: Record<string, { readEach(): Promise<TargetReading[]> }>;
  ledger: boolean;
  clocks: Pick<WorkerClocks, 'lines' | 'read' | 'follow'>;
  /** Whether virtual users stay connected until they are released. */
  holds: boolean;
  /** Aborted when the run ends early, which stops all waiting and publishing. */
  signal: AbortSignal;
}
