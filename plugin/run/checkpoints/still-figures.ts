/** Figures on pages of metrics that stand still while the others move: they would say that connections cost nothing. */
import type { TargetReading } from '../../samplers/index.ts';

/**
 * With so many connections of its own, each page must have moved: what these take of a server is more than the 10 ms in
 * which some count CPU time, and than the free memory of a heap.
 */
const WATCHED = [
  { figure: 'cpuSeconds', what: 'CPU time', connections: 100 },
  { figure: 'heapUsedBytes', what: 'V8 heap', connections: 400 },
] as const;

interface Still {
  what: string;
  targets: TargetReading[];
  /** Since so many. */
  connections: number;
}

export class StillFigures {
  /** By figure and a target's place in the options: the value, and the connections when it last moved. */
  readonly #moved = new Map<string, { value: number; connections: number }>();

  /** @returns the first figure that stands still, and where; undefined if there is none */
  look(targets: TargetReading[], connections: number): Still | undefined {
    const all = WATCHED.map((watched) => this.#lookAt(watched, targets, connections));
    return all.find((one) => one !== undefined);
  }

  #lookAt(watched: (typeof WATCHED)[number], targets: TargetReading[], connections: number): Still | undefined {
    const still: { target: TargetReading; since: number }[] = [];
    for (const [index, target] of targets.entries()) {
      const value = target.reading?.figures[watched.figure];
      if (value === undefined) continue;
      const key = `${watched.figure} ${index}`;
      const moved = this.#moved.get(key);
      if (moved?.value !== value) this.#moved.set(key, { value, connections });
      else if (Math.abs(connections - moved.connections) >= watched.connections * targets.length) {
        still.push({ target, since: moved.connections });
      }
    }
    const [first] = still;
    return first && { what: watched.what, targets: still.map(({ target }) => target), connections: first.since };
  }
}
