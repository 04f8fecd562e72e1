/**
 * Computes the CPU time that processes used between readings, and counts every microsecond once. When a process exits, the kernel
 * adds its whole CPU time to its parent, so the part that was already counted is subtracted there.
 */
import type { ProcessReading } from './proc.ts';

/** `ps` reports start times to the second; a pid is not reused that quickly. */
const SAME_START_US = 2_000_000;

export class CpuIncrements {
  readonly #known = new Map<number, ProcessReading>();
  /** CPU time of exited children that is already counted and that the kernel has yet to add to their parent, by parent. */
  readonly #countedUs = new Map<number, number>();
  /**
   * Counted CPU time of children that exited together with their parent. An ancestor or another process reaps them, before this reading or
   * the next.
   */
  #orphanedUs = { before: 0, now: 0 };

  /**
   * @param readings current readings; a new process counts from its start
   * @param hasEnded called for known processes that are not among the readings
   * @returns microseconds since the last reading, for each process in the readings
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

  /** Returns 0 for an older reading: concurrent readings can complete in the wrong order. */
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

  /** Moves the counted time of an exited process to its nearest living ancestor. */
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
