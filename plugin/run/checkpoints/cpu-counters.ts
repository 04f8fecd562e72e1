/** CPU time on pages of metrics: a counter that stands still while the other figures move would say that connections cost nothing. */
import type { TargetReading } from '../../samplers/index.ts';

/** Of each page; together with the readings themselves, they cost every server more than the 10 ms in which some count. */
const MIN_CONNECTIONS = 100;

export class CpuCounters {
  /** By a target's place in the options: its counter, and the connections when it last moved. */
  readonly #moved = new Map<number, { seconds: number; connections: number }>();

  /** @returns those whose counter stands still, and since how many connections; undefined if there are none */
  look(targets: TargetReading[], connections: number): { targets: TargetReading[]; connections: number } | undefined {
    const still: { target: TargetReading; since: number }[] = [];
    for (const [index, target] of targets.entries()) {
      const seconds = target.reading && cpuSecondsOf(target.reading);
      if (seconds === undefined) continue;
      const moved = this.#moved.get(index);
      if (moved?.seconds !== seconds) this.#moved.set(index, { seconds, connections });
      else if (Math.abs(connections - moved.connections) >= MIN_CONNECTIONS * targets.length) {
        still.push({ target, since: moved.connections });
      }
    }
    const [first] = still;
    return first && { targets: still.map(({ target }) => target), connections: first.since };
  }
}

/** Of the process, or of its container. */
export function cpuSecondsOf({ figures }: NonNullable<TargetReading['reading']>): number | undefined {
  const { cpuSeconds, containerCpuSeconds = cpuSeconds } = figures;
  return cpuSeconds ?? containerCpuSeconds;
}
