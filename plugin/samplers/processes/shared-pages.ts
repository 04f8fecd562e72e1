/** PSS between its rare readings: RSS less what the processes of the layer shared at the last one. */

import { type LayerPids, type ProcessMemory, processMemory } from './memory.ts';
import type { ProcessReading } from './proc.ts';

export class SharedPages {
  readonly #bytes = new Map<string, { pids: string; shared: number }>();

  /** Of a reading with PSS. Layers of which it is not known in full keep what was known before. */
  note(layerPids: LayerPids, processes: Map<number, ProcessReading>): void {
    for (const [layer, pids] of Object.entries(layerPids)) {
      if (pids.length === 0 || pids.some((pid) => processes.get(pid)?.pssBytes === undefined)) continue;
      const { rssBytes, pssBytes = 0 } = processMemory(pids, processes);
      this.#bytes.set(layer, { pids: pids.join(), shared: rssBytes - pssBytes });
    }
  }

  /** Of processes elsewhere, which report both themselves. */
  noteReported(layer: string, rssBytes: number | undefined, pssBytes: number | undefined): void {
    if (rssBytes === undefined || pssBytes === undefined) return;
    this.#bytes.set(layer, { pids: '', shared: rssBytes - pssBytes });
  }

  /** @returns undefined where PSS has never been read of exactly these processes */
  derive(layer: string, pids: number[], { rssBytes }: Pick<ProcessMemory, 'rssBytes'>): number | undefined {
    const known = this.#bytes.get(layer);
    return known?.pids === pids.join() ? Math.max(0, rssBytes - known.shared) : undefined;
  }
}
