/**
 * Computes the CPU time that processes used between readings, and counts every microsecond once. When a process exits,
 * the kernel adds its whole CPU time to its parent, so the part that was already counted is subtracted from the parent.
 */
import type { ProcessReading } from './proc.ts';

/**
 * Allowed difference of start times that still mean the same process. `ps` reports start times in seconds, and the
 * kernel does not reuse a pid that quickly.
 */
const SAME_START_US = 2_000_000;

export class CpuIncrements {
  readonly #known = new Map<number, ProcessReading>();
  /**
   * CPU time of exited children, by parent process. It was counted for the children, and the kernel will add it to the
   * CPU time of the parent.
   */
  readonly #countedUs = new Map<number, number>();
  /**
   * Counted CPU time of children that exited together with their parent. The kernel adds it to the CPU time of an
   * ancestor or of another process, before this reading or before the next reading.
   */
  #orphanedUs = { before: 0, now: 0 };

  /**
   * Adds a reading of all processes.
   * @param readings current readings; a new process counts from its start
   * @param hasEnded called for known processes that are not among the readings
   * @returns microseconds of CPU time since the last reading, for each process in the readings
   */
  add(
    readings: ReadonlyMap<number, ProcessReading>,
    hasEnded: (pid: number, startedAtUs: number) => boolean,
  ): Map<number, number> {
    const ended = [...this.#known].filter(([pid, { startedAtUs }]) => {
      const now = readings.get(pid);
      return now ? !isSame(now.startedAtUs, startedAtUs) : hasEnded(pid, startedAtUs);
    });
    this.#orphanedUs = { before: this.#orphanedUs.now, now: 0 };
    for (const [pid] of ended) this.#known.delete(pid);
    for (const exited of ended) this.#passToAncestor(exited, new Map(ended));
    return new Map([...readings].map(([pid, now]) => [pid, this.#since(pid, now)]));
  }

  /**
   * Returns the CPU time since the last reading; 0 for a reading that is older than the last one, because concurrent
   * readings can finish in any order.
   */
  #since(pid: number, now: ProcessReading): number {
    const before = this.#known.get(pid);
    const ownUs = now.cpuUs - (before?.cpuUs ?? 0);
    if (ownUs < 0) return 0;
    this.#known.set(pid, now);
    const reapedUs = (now.reapedUs ?? 0) - (before?.reapedUs ?? 0);
    const countedUs = this.#countedUs.get(pid) ?? 0;
    this.#countedUs.set(pid, Math.max(0, countedUs - reapedUs));
    return ownUs + this.#withoutOrphans(Math.max(0, reapedUs - countedUs));
  }

  #withoutOrphans(reapedUs: number): number {
    const { before, now } = this.#orphanedUs;
    const [first, second] = [Math.min(before, reapedUs), Math.min(now, Math.max(0, reapedUs - before))];
    this.#orphanedUs = { before: before - first, now: now - second };
    return reapedUs - first - second;
  }

  /** Moves the counted CPU time of an exited process to its nearest living ancestor. */
  #passToAncestor(
    [pid, { parent, cpuUs, reapedUs = 0 }]: [number, ProcessReading],
    ended: ReadonlyMap<number, ProcessReading>,
  ): void {
    let ancestor = parent;
    while (ancestor !== undefined && ended.has(ancestor)) ancestor = ended.get(ancestor)?.parent;
    const us = cpuUs + reapedUs + (this.#countedUs.get(pid) ?? 0);
    this.#countedUs.delete(pid);
    if (ancestor === undefined || !this.#known.has(ancestor)) return;
    if (ancestor === parent) this.#countedUs.set(ancestor, (this.#countedUs.get(ancestor) ?? 0) + us);
    else this.#orphanedUs.now += us;
  }
}

function isSame(a: number, b: number): boolean {
  return Math.abs(a - b) < SAME_START_US;
}
