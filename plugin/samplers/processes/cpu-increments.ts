/**
 * The CPU time that processes have used since they were last looked at, each microsecond once. When one ends, what nobody has
 * seen of it is in the time of whoever started it, and so is what has been seen.
 */
import type { ProcessReading } from './proc.ts';

/** `ps` reports start times to the second; a pid is not reused that quickly. */
const SAME_START_US = 2_000_000;

export class CpuIncrements {
  readonly #known = new Map<number, ProcessReading>();
  /** By the process that has started them: of those that have ended, what was counted, and is yet to come in its own time. */
  readonly #countedUs = new Map<number, number>();

  /**
   * @param readings a new process counts from its start
   * @param hasEnded of those that were there before, and are not in the readings
   * @returns microseconds of each process in the readings
   */
  add(
    readings: ReadonlyMap<number, ProcessReading>,
    hasEnded: (pid: number, startedAtUs: number) => boolean,
  ): Map<number, number> {
    const ended = [...this.#known].filter(([pid, { startedAtUs }]) => {
      const now = readings.get(pid);
      return now ? !isSame(now.startedAtUs, startedAtUs) : hasEnded(pid, startedAtUs);
    });
    for (const [pid] of ended) this.#known.delete(pid);
    for (const one of ended) this.#pass(one, new Map(ended));
    return new Map([...readings].map(([pid, now]) => [pid, this.#since(pid, now)]));
  }

  /** Two concurrent readings can end in the wrong order: the older one adds nothing. */
  #since(pid: number, now: ProcessReading): number {
    const before = this.#known.get(pid);
    const ownUs = now.cpuUs - (before?.cpuUs ?? 0);
    if (ownUs < 0) return 0;
    this.#known.set(pid, now);
    const reapedUs = (now.reapedUs ?? 0) - (before?.reapedUs ?? 0);
    const countedUs = this.#countedUs.get(pid) ?? 0;
    this.#countedUs.set(pid, Math.max(0, countedUs - reapedUs));
    return ownUs + Math.max(0, reapedUs - countedUs);
  }

  /** To the one above that is left. */
  #pass(
    [pid, { parent, cpuUs, reapedUs = 0 }]: [number, ProcessReading],
    ended: ReadonlyMap<number, ProcessReading>,
  ): void {
    let above = parent;
    while (above !== undefined && ended.has(above)) above = ended.get(above)?.parent;
    const countedUs = this.#countedUs.get(pid) ?? 0;
    this.#countedUs.delete(pid);
    if (above === undefined || !this.#known.has(above)) return;
    this.#countedUs.set(above, (this.#countedUs.get(above) ?? 0) + cpuUs + reapedUs + countedUs);
  }
}

function isSame(one: number, other: number): boolean {
  return Math.abs(one - other) < SAME_START_US;
}
