/** A layer: whose memory and CPU it is, its title, and how its figures are read. */

import type { CpuReading } from '../../../protocol/events.ts';
import type { LayerDescription } from '../../../protocol/result/memory.ts';
import type { Sources } from '../sources.ts';

/** With `idleUs` for a layer with its own cores, such as the whole machine. */
export type CpuUse = Pick<CpuReading, 'busyUs'> & Partial<CpuReading>;

/** Each layer is an entry in `index.ts`: everything that measures or shows layers takes them from there. */
export interface Layer {
  /** Its key among the CPU figures and in the samples of the result document. */
  id: string;
  title: string;
  /**
   * `machine`: read from the kernel of the generator's machine, which knows nothing of a deployment elsewhere. Other
   * layers are absent if their source cannot be reached from this machine.
   */
  belongsTo: LayerDescription['belongsTo'];
  /** The layer consists of processes; CPU time and memory of those on this machine are added up. */
  isProcesses?: true;
  /** Part of a run only if its settings name where it is. */
  onlyNamed?: true;
  /** The workers, with their garbage, are in its memory. */
  containsWorkers?: true;
  /** CPU time of a layer without processes. Rejects with the reason why it is unknown. */
  cpu?(sources: Sources): Promise<CpuUse>;
  /** In the order of tables: the main figure of the layer comes first. */
  figures: Figure[];
  /** Counts of what the layer has open or stores; they must not grow while connections open and close. */
  counts?: Count[];
  /** Its values in a sample row besides its CPU, in bytes. Rejects if they are unknown. */
  sample?(sources: Sources): Promise<Record<string, number>>;
}

export interface Count {
  /** Identifier that begins with the layer's word: `workerRooms`. */
  id: string;
  title: string;
  /** Rejects if it is unknown. */
  read(sources: Sources): Promise<number>;
}

export interface Origin {
  /** Whose figure it is. */
  source: string;
  /** Current bytes. Rejects with the reason why they are unknown. */
  read(sources: Sources): Promise<number>;
}

/** Bytes of a layer, with a slope per connection. */
export interface Figure {
  /**
   * Its key among the memory figures of the result document: `workerRss`. Its first word is the layer's: reports
   * group by it.
   */
  id: string;
  title: string;
  /** Asked in this order, until one knows. */
  from: Origin[];
  /** Its bytes are in no other figure of the sum, so that the sum can be compared with the whole machine. */
  inSum?: boolean;
  /** Part of a run only if the layer has pages of metrics. */
  onlyMetrics?: true;
  /** Shown where there is room for a few figures only. */
  main?: boolean;
  /** Word in the Artillery metric of the layer's slope: `worker_pss`. */
  metric?: string;
  /** Its key in the layer's samples, which show its peaks between two readings. */
  sampleKey?: string;
}

/** @returns the table of layers for the result document */
export function describeLayers(layers: readonly Layer[]): LayerDescription[] {
  return layers.flatMap(({ id, title, belongsTo, isProcesses, cpu, figures }) => [
    ...(isProcesses || cpu ? [{ id, title, unit: 'cpuSeconds' as const, belongsTo, inSum: false, main: false }] : []),
    ...figures.map((figure) => ({
      id: figure.id,
      title: figure.title,
      unit: 'bytes' as const,
      belongsTo,
      inSum: figure.inSum ?? false,
      main: figure.main ?? false,
    })),
  ]);
}
