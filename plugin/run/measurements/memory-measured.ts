/** Memory readings of a run. */
import type { BoundedSeries } from '../../../protocol/base/bounded-series.ts';
import type { OverTimeResult } from '../../../protocol/result/memory-schema.ts';

/** Bytes by layer. */
export type LayerBytes = Record<string, number>;

export interface Plateau {
  connections: number;
  /** Memory at rest: means of the readings. */
  layers: LayerBytes;
  readings?: LayerBytes[];
  /** Memory just before the first collection. */
  inService?: LayerBytes;
  /** The machine before and after the readings, if its memory is compared. */
  machine?: { before: MachineMoment; after: MachineMoment };
}

/** A reading of a run with waves or churn. */
export interface MomentReading {
  /** Seconds of the sampler. */
  t: number;
  connections: number;
  /** Connections that had closed before the reading. */
  gone: number;
  layers: LayerBytes;
  /** Counts of the layers by id, read when all connections of a wave have closed. */
  counts?: Record<string, number>;
}

export interface OverTimeMeasured {
  collected: boolean;
  kind: OverTimeResult['kind'];
  /** Readings with all connections of a wave. */
  peaks: MomentReading[];
  /** Readings after each wave, or during churn. */
  readings: BoundedSeries<MomentReading>;
}

/** A process of this machine that no layer includes, or shared memory. */
export interface Holder {
  /** Unique even if a pid is reused. */
  id: string;
  /** Pid of the process; null for shared memory. */
  pid: number | null;
  /** RSS of a process, or size of the shared memory. */
  bytes: number;
  /** Place of the shared memory, or command line of a process that has grown. */
  name?: string;
}

/** Memory of layers and of possible other holders at one time. */
export interface MachineMoment {
  /** Seconds of the sampler. */
  t: number;
  layers: LayerBytes;
  holders: Holder[];
}
