/** What a layer is: whose memory and CPU it is, what it is called, and how its figures are read. */
import type { LayerDescription } from '../../../protocol/result.ts';
import type { CpuReading } from '../kernel.ts';
import type { Sources } from '../sources.ts';

/** One file each, and a line in `index.ts`: everything that measures or shows layers takes them from there. */
export interface Layer {
  /** Its key among the CPU figures and in the samples of the result document. */
  id: string;
  title: string;
  /**
   * `machine`: read from the kernel of the generator's machine, which says nothing of a deployment elsewhere. The other
   * layers are absent where their source cannot be reached from here.
   */
  belongsTo: LayerDescription['belongsTo'];
  /** It is processes; CPU time and memory of those on this machine are added up. */
  isProcesses?: true;
  /** CPU time of a layer that is not processes. Rejects with the reason why it is not known. */
  cpu?(sources: Sources): Promise<CpuReading>;
  /** In the order of tables: the one that stands for the layer first. */
  figures: Figure[];
  /** What a sample row has of it besides its CPU, in bytes. Rejects where nothing is known. */
  sample?(sources: Sources): Promise<Record<string, number>>;
}

/** Bytes of a layer, with a slope per connection. */
export interface Figure {
  /**
   * Its key among the memory figures of the result document: `workerRss`. Its first word is the layer's: reports
   * group by it.
   */
  id: string;
  title: string;
  /** Bytes now. Rejects with the reason why they are not known. */
  read(sources: Sources): Promise<number>;
  /** Its bytes are in no other figure of the sum, so that the sum can be compared with the whole machine. */
  inSum?: boolean;
  /** Shown where there is room for a few figures only. */
  main?: boolean;
  /** Artillery metric of its slope; none may be the beginning of a later one. */
  metric?: string;
  /** The key that it has in the layer's samples, which know its peaks between two readings. */
  sampleKey?: string;
}

/** @returns the table as the result document has it */
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
