/** Types of the table of layers: a layer has figures, and alternative sources that read them. */
import type { LayerDescription } from '../../../protocol/result/memory-schema.ts';
import type { Inputs } from '../sampler-inputs.ts';

/** Reads bytes, CPU time in microseconds, or a count. Throws or rejects with the reason if that is unknown. */
export type Measure = (inputs: Inputs) => number | Promise<number>;

export interface Source {
  name: string;
  /** The measures that it can read, by the names that figures use, such as `rssBytes`. */
  measures: Record<string, Measure>;
}

/** A layer: an entry in `index.ts`, from which all code that measures or shows layers takes it. */
export interface Layer {
  /** Key among the CPU figures and in the samples of the result document. */
  id: string;
  title: string;
  /** `machine`: read from this machine's kernel, so absent if the deployment runs elsewhere. */
  belongsTo: LayerDescription['belongsTo'];
  /** The layer consists of processes; CPU time and memory of its processes on this machine are summed. */
  isProcesses?: true;
  /** The layer is not a process, but its sources have `cpuUs`, and `idleUs` if it has its own cores. */
  hasCpu?: true;
  /** Part of a run only if the settings name its processes or metrics pages. */
  onlyNamed?: true;
  /** Its memory includes the workers, with their garbage. */
  containsWorkers?: true;
  /** Each figure is read from the first source that has its measure and can read it. */
  sources: Source[];
  /** Figures in the order of tables; the main figure is the first. */
  figures: Figure[];
  /** Counts of open or stored items, which must not grow while connections open and close. */
  counts?: Pick<Figure, 'id' | 'title' | 'measure'>[];
  /** Measures in bytes of each sample row, all read from the first source that can read any of them. */
  sampled?: string[];
}

/** A memory figure of a layer, in bytes, for which a run computes a slope per connection. */
export interface Figure {
  /** Key among the memory figures of the result document, such as `workerRss`. Reports group by its first word, the layer. */
  id: string;
  title: string;
  /** Key in the measures of the layer's sources, and in its sample rows. */
  measure: string;
  /** Part of the sum that is compared with the whole machine: no other figure of the sum includes its bytes. */
  inSum?: boolean;
  /** Part of a run only if the layer has metrics pages. */
  onlyMetrics?: true;
  /** Shown in places with room for only a few figures. */
  main?: boolean;
  /** Name in the Artillery metric of the slope, such as `worker_pss`. */
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
