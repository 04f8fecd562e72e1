/** CPU time of a layer, which never decreases although its processes start and end. */
import type { ProcessReading } from './proc.ts';
import { readProcess } from './process-table.ts';

/** `ps` reports start times to the second; a pid is not reused that quickly. */
const SAME_START_US = 2_000_000;

export class CpuTime {
  #totalUs = 0;
  readonly #withChildren: boolean;
  readonly #last = new Map<number, ProcessReading>();
  /** Counted of children that have ended, and not yet seen in the time of those who started them. */
  #countedUs = 0;

  /** @param withChildren what the processes have started counts, too, also if it has ended before anybody saw it */
  constructor(withChildren = false) {
    this.#withChildren = withChildren;
  }

  /** Undefined as long as none of the processes has been read. */
  get totalUs(): number | undefined {
    return this.#last.size === 0 ? undefined : this.#totalUs;
  }

  /** Adds the CPU time that the processes have used since the last call; a new process counts from its start. */
  add(pids: number[], processes: Map<number, ProcessReading>): void {
    let reapedUs = 0;
    for (const pid of new Set(pids)) {
      const now = processes.get(pid);
      if (now === undefined) continue;
      const before = this.#last.get(pid);
      const same = before !== undefined && now.startedAtUs - before.startedAtUs < SAME_START_US;
      // Two concurrent readings can end in the wrong order: the older one adds nothing.
      if (same && now.cpuUs < before.cpuUs) continue;
      this.#totalUs += now.cpuUs - (same ? before.cpuUs : 0);
      reapedUs += (now.reapedUs ?? 0) - ((same ? before.reapedUs : undefined) ?? 0);
      this.#last.set(pid, now);
    }
    if (this.#withChildren) this.#addReaped(reapedUs, pids);
  }

  #addReaped(reapedUs: number, pids: number[]): void {
    for (const [pid, { parent, cpuUs, reapedUs = 0, startedAtUs }] of this.#last) {
      const hasEnded = !pids.includes(pid) && readProcess(pid)?.startedAtUs !== startedAtUs;
      if (!hasEnded) continue;
      this.#last.delete(pid);
      if (parent !== undefined && this.#last.has(parent)) this.#countedUs += cpuUs + reapedUs;
    }
    const newUs = Math.max(0, reapedUs - this.#countedUs);
    this.#countedUs = Math.max(0, this.#countedUs - reapedUs);
    this.#totalUs += newUs;
  }
}
