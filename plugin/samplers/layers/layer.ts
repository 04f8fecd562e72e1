/** A layer of the table: its figures, and the alternative sources that can read them. */
import type { LayerDescription } from '../../../protocol/result/memory-schema.ts';
import type { Inputs } from '../sampler-inputs.ts';

/** Reads the current bytes, CPU time in microseconds, or count. Throws or rejects with the reason why it is unknown. */
export type Measure = (inputs: Inputs) => number | Promise<number>;

/** One source of a layer. A further way to read a layer is a further entry in its `sources`. */
export interface Source {
  /** Its name in the result document. */
  name: string;
  /** The measures that it can have, by the names that figures use: `rssBytes`. */
  measures: Record<string, Measure>;
}

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
  /** It is no process, and its sources have `cpuUs`; with `idleUs` if it has its own cores. */
  hasCpu?: true;
  /** Part of a run only if its settings name where it is. */
  onlyNamed?: true;
  /** The workers, with their garbage, are in its memory. */
  containsWorkers?: true;
  /** Alternatives. Each figure is that of the first source that has its measure and can read it. */
  sources: Source[];
  /** In the order of tables: the main figure of the layer comes first. */
  figures: Figure[];
  /** Counts of what the layer has open or stores; they must not grow while connections open and close. */
  counts?: Pick<Figure, 'id' | 'title' | 'measure'>[];
  /** Measures in bytes that each sample row has, all of the first source that can read any of them. */
  sampled?: string[];
}

/** Bytes of a layer, with a slope per connection. */
export interface Figure {
  /**
   * Its key among the memory figures of the result document: `workerRss`. Its first word is the layer's: reports
   * group by it.
   */
  id: string;
  title: string;
  /** Key in the measures of the layer's sources, and in its sample rows. */
  measure: string;
  /** Its bytes are in no other figure of the sum, so that the sum can be compared with the whole machine. */
  inSum?: boolean;
  /** Part of a run only if the layer has pages of metrics. */
  onlyMetrics?: true;
  /** Shown where there is room for a few figures only. */
  main?: boolean;
  /** Word in the Artillery metric of the layer's slope: `worker_pss`. */
  metric?: string;
}

/** @returns the table of layers for the result document */
export function describeLayers(layers: readonly Layer[]): LayerDescription[] {
  return layers.flatMap(({ id, title, belongsTo, isProcesses, hasCpu, figures }) => [
    ...(isProcesses || hasCpu
      ? [{ id, title, unit: 'cpuSeconds' as const, belongsTo, inSum: false, main: false }]
      : []),
    ...figures.map(({ id, title, inSum = false, main = false }) => ({
      ...{ id, title, inSum, main },
      unit: 'bytes' as const,
      belongsTo,
    })),
  ]);
}
