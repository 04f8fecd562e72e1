/** CPU time of a layer that never goes back, although its processes come and go. */
import type { ProcessReading } from './proc.ts';

/** `ps` tells start times to the second; a pid is not used again that quickly. */
const SAME_START_US = 2_000_000;

export class CpuTime {
  totalUs = 0;
  readonly #last = new Map<number, ProcessReading>();

  /** Adds what the processes have used since they were last seen; a new one counts from its start. */
  add(pids: number[], processes: Map<number, ProcessReading>): void {
    for (const pid of new Set(pids)) {
      const now = processes.get(pid);
      if (now === undefined) continue;
      const before = this.#last.get(pid);
      const same = before !== undefined && now.startedAtUs - before.startedAtUs < SAME_START_US;
      // Two readings under way at once may end in the wrong order: the older one brings nothing.
      if (same && now.cpuUs < before.cpuUs) continue;
      this.totalUs += now.cpuUs - (same ? before.cpuUs : 0);
      this.#last.set(pid, now);
    }
  }
}
