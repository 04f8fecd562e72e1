/** Measures the CPU time of all layers, in total and as a percentage since the previous sample. */

import type { CpuReading } from '../../protocol/wire/events.ts';
import type { Layer } from './layers/layer.ts';
import { CpuIncrements } from './processes/cpu-increments.ts';
import { isHidden, isProcessAlive, type ProcessReading } from './processes/proc.ts';
import type { LayerPids } from './processes/process-memory.ts';
import { knownValues, readLayerFigure } from './reading.ts';
import type { SamplerInputs } from './sampler-inputs.ts';

/** CPU time of a layer, and `idleUs` if the layer has its own cores, as the whole machine has. */
type CpuUse = Pick<CpuReading, 'busyUs'> & Partial<CpuReading>;

export interface CpuPoint {
  atMs: number;
  /** CPU time by layer. A layer that could not be read is missing. */
  uses: Record<string, CpuUse>;
}

export class LayerCpu {
  readonly #layers: readonly Layer[];
  readonly #increments = new CpuIncrements();
  /** Total CPU time of each layer whose processes have been read. */
  readonly #totalUs = new Map<string, number>();
  /** Layers with a process that the run is not permitted to read. */
  readonly incomplete = new Set<string>();

  constructor(layers: readonly Layer[]) {
    this.#layers = layers;
  }

  add(pids: LayerPids, processes: Map<number, ProcessReading>): void {
    const increments = this.#increments.add(processes, (pid, startedAtUs) => !isProcessAlive({ pid, startedAtUs }));
    for (const { id, isProcesses } of this.#layers) {
      const own = isProcesses ? (pids[id] ?? []) : [];
      const read = own.flatMap((pid) => increments.get(pid) ?? []);
      if (own.some((pid) => !processes.has(pid) && isHidden(pid))) this.incomplete.add(id);
      if (read.length > 0)
        this.#totalUs.set(
          id,
          read.reduce((sum, us) => sum + us, this.#totalUs.get(id) ?? 0),
        );
    }
  }

  /** Returns the CPU time by layer. For layers of processes, this is the total of all `add` calls. Never rejects. */
  async uses(inputs: SamplerInputs): Promise<Record<string, CpuUse>> {
    const uses: Record<string, CpuUse> = {};
    for (const layer of this.#layers) {
      const read = (measure: string) => readLayerFigure(layer, measure, inputs);
      const { busyUs = this.#totalUs.get(layer.id), idleUs } = knownValues({
        ...(!this.#totalUs.has(layer.id) && { busyUs: await read('cpuUs') }),
        ...(layer.hasCpu && { idleUs: await read('idleUs') }),
      });
      if (busyUs !== undefined) uses[layer.id] = { busyUs, ...(idleUs !== undefined && { idleUs }) };
    }
    return uses;
  }
}

/**
 * Returns the CPU use of a layer since the previous sample in percent: 100 is one core, or all cores of a layer with
 * its own cores. Empty for the first sample of a layer.
 */
export function cpuPercent(layer: string, before: CpuPoint | undefined, now: CpuPoint): { cpuPercent?: number } {
  const [from, to] = [before?.uses[layer], now.uses[layer]];
  if (before === undefined || from === undefined || to === undefined) return {};
  const busyUs = to.busyUs - from.busyUs;
  // If the CPU time is below the previous value, the process was replaced.
  if (busyUs < 0) return {};
  const wholeUs =
    to.idleUs === undefined || from.idleUs === undefined
      ? (now.atMs - before.atMs) * 1000
      : busyUs + to.idleUs - from.idleUs;
  return wholeUs > 0 ? { cpuPercent: Math.round((1000 * busyUs) / wholeUs) / 10 } : {};
}
