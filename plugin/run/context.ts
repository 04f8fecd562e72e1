/** Resources that all measuring code of a run shares. The types omit the methods that open and close a resource. */

import type { Inspectors, RedisReader, Sampler, TargetReading } from '../samplers/index.ts';
import type { Settings } from '../script/settings.ts';
import type { EngineLink } from './link.ts';
import type { Measurements } from './measurements/measurements.ts';
import type { MemoryHolder } from './measurements/memory-measured.ts';
import type { DeploymentPart } from './measurements/worker-identity.ts';
import type { ConnectionPopulation } from './population.ts';
import type { Publishers } from './receivers/publishers.ts';
import type { ReferenceReceiver } from './receivers/reference-receiver.ts';
import type { RoundTripProbe } from './receivers/round-trip-probe.ts';
import type { RunClients } from './receivers/run-clients.ts';
import type { GarbageCollector, WorkerControl } from './target/control-client.ts';
import type { RunTarget } from './target/target.ts';
import type { WorkerClocks } from './target/worker-clocks.ts';
import type { ResourceWindows } from './windows/resource-windows.ts';

export interface RunContext {
  config: Settings;
  measurements: Measurements;
  link: Omit<EngineLink, 'onFailed' | 'ready' | 'start' | 'close'>;
  control: Omit<WorkerControl, 'close'>;
  /** Forces garbage collections through control ports or inspectors. Does nothing without either. */
  collector: GarbageCollector;
  /** Takes profiles through control ports or inspectors; undefined if the run takes no profiles. */
  profiler: Pick<Inspectors, 'startProfiles' | 'takeProfiles'> | undefined;
  /** The sampler of memory and CPU. Its method `close` ends the time series. */
  sampler: Pick<Sampler, keyof Sampler>;
  resources: Pick<ResourceWindows, 'begin' | 'end'>;
  probe: Omit<RoundTripProbe, 'close'>;
  /** The reference receiver; undefined if the run has none. */
  sentinel: (Pick<ReferenceReceiver, 'join' | 'connected'> & Partial<Pick<ReferenceReceiver, 'ending'>>) | undefined;
  /** Publishers of the server's own event; undefined if the run does not publish it. */
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
  clients: Pick<RunClients, 'nextTemporary' | 'nextReceiver' | 'areUsers'>;
  population: Omit<ConnectionPopulation, 'close'>;
  /** Identifies the processes of the deployment, by name. Processes that the run cannot identify are missing. */
  deployment(): Promise<Record<string, DeploymentPart>>;
  /** Records which processes are measured at the moment. */
  noteProcesses?(): Promise<void>;
  /**
   * Reads processes outside the measured layers that may hold memory for connections; undefined if the run does not
   * compare the sum of the layers with the machine's memory.
   */
  holders?(): Promise<MemoryHolder[]>;
  target: Pick<RunTarget, 'openFiles' | 'fullest' | 'connections' | 'stack'>;
  /** The adapter's Redis; undefined if the run does not know its address. */
  redis: Pick<RedisReader, 'answers' | 'traffic' | 'absence' | 'name'> | undefined;
  /** The metrics pages that the run reads, grouped by layer. */
  metrics: Record<string, { readEach(): Promise<TargetReading[]> }>;
  ledger: boolean;
  clocks: Pick<WorkerClocks, 'lines' | 'read' | 'follow'>;
  /** Whether virtual users stay connected until the run releases them. */
  holds: boolean;
  /** Signal that aborts when the run ends early. All waiting and publishing ends then. */
  signal: AbortSignal;
}
