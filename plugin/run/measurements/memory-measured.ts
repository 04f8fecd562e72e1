/** Memory of the layers, at moments of a run. */
import type { BoundedSeries } from '../../../protocol/base/bounded-series.ts';

/** Layer → bytes. */
export type LayerBytes = Record<string, number>;

export interface Plateau {
  connections: number;
  /** At rest: means of the readings. */
  layers: LayerBytes;
  readings?: LayerBytes[];
  /** Just before the collection; missing where nobody read it. */
  inService?: LayerBytes;
  /** The machine before and after the readings; missing where its memory is not compared. */
  machine?: { before: MachineMoment; after: MachineMoment };
}

/** Memory at a moment of a run in which connections come and go. */
export interface MomentReading {
  /** On the sampler's time. */
  t: number;
  connections: number;
  /** Connections that had come and left by then. */
  gone: number;
  layers: LayerBytes;
  /** Counts of the layers by id, read when all connections of a wave have closed. */
  counts?: Record<string, number>;
}

export interface OverTimeMeasured {
  collected: boolean;
  kind: 'waves' | 'churn';
  /** When all of a wave were connected. */
  peaks: MomentReading[];
  /** When all of a wave had left; or one after the other, while virtual users come and go. */
  readings: BoundedSeries<MomentReading>;
}

/** A process of this machine that no layer includes, or a place of shared memory. */
export interface Holder {
  /** Differs from that of another process with the same pid. */
  id: string;
  /** Null for a place. */
  pid: number | null;
  /** RSS of a process. */
  bytes: number;
  /** The place, or a command line, which is known once the process has grown. */
  name?: string;
}

/** Possible holders of memory outside the measured processes. */
export interface MachineMoment {
  /** Seconds on the sampler's time. */
  t: number;
  layers: LayerBytes;
  holders: Holder[];
}
