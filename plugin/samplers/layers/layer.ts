/** Types of the table of layers. A layer has figures, and alternative sources that read them. */
import type { LayerDescription } from '../../../protocol/result/memory-schema.ts';
import type { SamplerInputs } from '../sampler-inputs.ts';

/**
 * Function that reads bytes, microseconds of CPU time, or a count. Throws or rejects with the reason if the value is
 * unavailable.
 */
export type ReadFigure = (inputs: SamplerInputs) => number | Promise<number>;

export interface FigureSource {
  name: string;
  /** Functions that read a value from the source, by name of the value, such as `rssBytes`. */
  measures: Record<string, ReadFigure>;
}

/**
 * A layer: a part of the deployment or of the machine, such as the workers or the kernel. All code that measures or
 * shows layers uses the table in `index.ts`.
 */
export interface Layer {
  /** Key of the layer among the CPU figures and in the samples of the result document. */
  id: string;
  title: string;
  /**
   * Part of the system to which the layer belongs. A layer of the `machine` is read from this machine's kernel, so it
   * is unavailable if the deployment runs on another machine.
   */
  belongsTo: LayerDescription['belongsTo'];
  /** Whether the layer consists of processes. CPU time and memory of its processes on this machine are summed. */
  isProcesses?: true;
  /**
   * Whether the layer has CPU time without being a process: its sources have `cpuUs`, and `idleUs` if it has its own
   * cores.
   */
  hasCpu?: true;
  /** Whether the layer is measured only if the settings name its processes or metrics pages. */
  onlyNamed?: true;
  /** Whether the layer's memory includes the workers' memory with its garbage. */
  containsWorkers?: true;
  /** Sources in the order in which a run tries them. A figure is read from the first source that can read it. */
  sources: FigureSource[];
  /** Memory figures in the order of tables, with the main figure first. */
  figures: LayerFigure[];
  /** Counts of open or stored items, such as sockets. They must not grow while connections open and close. */
  counts?: Pick<LayerFigure, 'id' | 'title' | 'measure'>[];
  /** Values in bytes that each row of the time series contains, all from the first source that can read any of them. */
  sampled?: string[];
}

/** A memory figure of a layer, in bytes. A run computes its slope per connection. */
export interface LayerFigure {
  /**
   * Key among the memory figures of the result document, such as `workerRss`. Its first word is the layer, by which
   * reports group figures.
   */
  id: string;
  title: string;
  /**
   * Name of the value that the layer's sources read for the figure. It is also the key in the rows of the time series.
   */
  measure: string;
  /**
   * Whether the figure is part of the sum that is compared with the whole machine. The figures in this sum do not
   * overlap.
   */
  inSum?: boolean;
  /** Whether the figure is measured only if the layer has metrics pages. */
  onlyMetrics?: true;
  /** Whether reports show the figure if they have space for only a few figures. */
  main?: boolean;
  /** Name of the figure in the Artillery metric for its slope, such as `worker_pss`. */
  metric?: string;
}

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
