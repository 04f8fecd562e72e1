/** CPU time of a layer, which never decreases although its processes start and end. */
import type { ProcessReading } from './proc.ts';

/** `ps` reports start times to the second; a pid is not reused that quickly. */
const SAME_START_US = 2_000_000;

export class CpuTime {
  #totalUs = 0;
  readonly #last = new Map<number, ProcessReading>();

  /** Undefined as long as none of the processes has been read. */
  get totalUs(): number | undefined {
    return this.#last.size === 0 ? undefined : this.#totalUs;
  }

  /** Adds the CPU time that the processes have used since the last call; a new process counts from its start. */
  add(pids: number[], processes: Map<number, ProcessReading>): void {
    for (const pid of new Set(pids)) {
      const now = processes.get(pid);
      if (now === undefined) continue;
      const before = this.#last.get(pid);
      const same = before !== undefined && now.startedAtUs - before.startedAtUs < SAME_START_US;
      // Two concurrent readings can end in the wrong order: the older one adds nothing.
      if (same && now.cpuUs < before.cpuUs) continue;
      this.#totalUs += now.cpuUs - (same ? before.cpuUs : 0);
      this.#last.set(pid, now);
    }
  }
}
