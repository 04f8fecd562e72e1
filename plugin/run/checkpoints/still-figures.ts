/** Figures on pages of metrics that stand still while the others move: they would say that connections cost nothing. */
import type { TargetReading } from '../../samplers/index.ts';

type Figures = NonNullable<TargetReading['reading']>['figures'];

interface Watched {
  what: string;
  /** Undefined where it says nothing of connections. */
  of(figures: Figures, targets: number): number | string | undefined;
  /** With so many connections of its own, each page must have moved. */
  connections: number;
}

/**
 * Connections take more than the 10 ms in which some count CPU time, and than the free memory of a heap. All figures of a cache
 * are the same to the last digit; one of several workers can be without new connections, but not without CPU time.
 */
const WATCHED: Watched[] = [
  {
    what: 'figures',
    of: (figures, targets) => (targets === 1 || figures.cpuSeconds !== undefined ? JSON.stringify(figures) : undefined),
    connections: 1,
  },
  { what: 'CPU time', of: ({ cpuSeconds }) => cpuSeconds, connections: 100 },
  { what: 'V8 heap', of: ({ heapUsedBytes }) => heapUsedBytes, connections: 400 },
];

export class StillFigures {
  /** By figure and a target's place in the options: the value, and the connections when it last moved. */
  readonly #moved = new Map<string, { value: number | string; connections: number }>();

  /** @returns the first figure that stands still, where, and since how many connections; undefined if there is none */
  look(targets: TargetReading[], connections: number) {
    const all = WATCHED.map((watched) => this.#lookAt(watched, targets, connections));
    return all.find((one) => one !== undefined);
  }

  #lookAt(watched: Watched, targets: TargetReading[], connections: number) {
    const still: { target: TargetReading; since: number }[] = [];
    for (const [index, target] of targets.entries()) {
      const value = target.reading && watched.of(target.reading.figures, targets.length);
      if (value === undefined) continue;
      const key = `${watched.what} ${index}`;
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
