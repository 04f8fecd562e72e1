/**
 * What all measuring code shares during one run. It has only those parts of each resource that measuring needs: opening and
 * closing them is their owner's business.
 */

import type { Inspectors, RedisReader, Sampler, TargetReading } from '../samplers/index.ts';
import type { Settings } from '../script/settings.ts';
import type { EngineLink } from './link.ts';
import type { DeploymentPart } from './measurements/deployment-parts.ts';
import type { Measurements } from './measurements/measurements.ts';
import type { Holder } from './measurements/memory-measured.ts';
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
  /** Written as the run goes on. */
  measurements: Measurements;
  link: Omit<EngineLink, 'onFailed' | 'ready' | 'start' | 'close'>;
  control: Omit<Control, 'close'>;
  /** The control ports or the inspectors of the workers; with neither, it does nothing. */
  collector: Collector;
  /** If the run is to know where connections allocate. */
  profiler: Pick<Inspectors, 'startProfiles' | 'takeProfiles'> | undefined;
  sampler: Omit<Sampler, 'close'>;
  resources: Pick<ResourceWindows, 'begin' | 'end'>;
  probe: Omit<Probe, 'close'>;
  /** If there are other receivers to compare its latency with. */
  sentinel: (Pick<Sentinel, 'join' | 'connected'> & Partial<Pick<Sentinel, 'ending'>>) | undefined;
  /** If connections of the run make the server broadcast an event of its own. */
  publishers:
    | Pick<
        Publishers,
        'publish' | 'connected' | 'givesIds' | 'prefix' | 'acknowledged' | 'ackErrors' | 'unacknowledged'
      >
    | undefined;
  /** Those of the run itself. */
  clients: Pick<RunClients, 'nextTemporary' | 'areUsers'>;
  population: Omit<Population, 'close'>;
  /** Parts of the deployment by name; unknown ones are missing. */
  deployment(): Promise<Record<string, DeploymentPart>>;
  /** Notes which processes are measured now. Where nothing can name them, it is missing. */
  noteProcesses?(): Promise<void>;
  /** Reads possible holders of memory outside the measured processes; undefined if other machines generate the load. */
  holders?(): Promise<Holder[]>;
  target: Pick<Target, 'openFiles' | 'fullest' | 'connections' | 'stack'>;
  /** The adapter's Redis, if the run knows it. */
  redis: Pick<RedisReader, 'answers' | 'traffic' | 'absence' | 'name'> | undefined;
  /** By layer, the pages of metrics that the run reads. */
  metrics: Record<string, { readEach(): Promise<TargetReading[]> }>;
  /** Whether the engine keeps a ledger. */
  ledger: boolean;
  clocks: Pick<WorkerClocks, 'lines' | 'read' | 'follow'>;
  /** Whether virtual users stay until they are released. */
  holds: boolean;
  /** Aborted when the run ends early: all waiting and publishing then stops. */
  signal: AbortSignal;
}
