/** Memory readings of a run. */
import type { BoundedSeries } from '../../../protocol/base/bounded-series.ts';
import type { OverTimeResult } from '../../../protocol/result/memory-schema.ts';

/** Memory in bytes, by the id of the memory figure. */
export type LayerBytes = Record<string, number>;

export interface Plateau {
  connections: number;
  /** Memory at a constant number of connections: mean of several readings, each after a garbage collection. */
  layers: LayerBytes;
  readings?: LayerBytes[];
  /** Memory just before the first garbage collection, while the workers serve connections. */
  inService?: LayerBytes;
  /** Memory of the machine before and after the readings, if the run compares it with the sum of the layers. */
  machine?: { before: MachineMemoryReading; after: MachineMemoryReading };
}

/** A memory reading of a run with waves, or with users that connect and disconnect all the time. */
export interface MomentReading {
  /** Time of the reading, in seconds since the start of the sampler. */
  t: number;
  connections: number;
  /** Number of connections that had closed before the reading. */
  gone: number;
  layers: LayerBytes;
  /** Numbers of open or stored items in the layers, read after all connections of a wave have closed. */
  counts?: Record<string, number>;
}

export interface OverTimeMeasured {
  collected: boolean;
  kind: OverTimeResult['kind'];
  /** Readings while all connections of a wave are open. */
  peaks: MomentReading[];
  /** Readings after each wave, or while users connect and disconnect all the time. */
  readings: BoundedSeries<MomentReading>;
}

/** A process on this machine outside all layers, or a segment of shared memory. */
export interface MemoryHolder {
  /** Identifies the process, even if its pid is reused. */
  id: string;
  pid: number | null;
  /** RSS of the process, or size of the shared memory. */
  bytes: number;
  /** Path of the shared memory segment, or command line of a process whose memory has grown. */
  name?: string;
}

/** Memory of the layers, and of other processes that may hold memory for connections, at one time. */
export interface MachineMemoryReading {
  /** Time of the reading, in seconds since the start of the sampler. */
  t: number;
  layers: LayerBytes;
  holders: MemoryHolder[];
}
