/** The history for the charts of a page that is opened late. It never grows beyond a few hundred KB. */
import type { LiveFigures } from './figures.ts';

/** One point of each chart. */
interface LivePoint {
  seconds: number;
  connections: number;
  ratePerSec: number;
  /** Layer → PSS, or RSS without PSS. */
  memoryBytes: Record<string, number>;
  /** Loop → 99th percentile of its delay. */
  loopDelayMs: Record<string, number>;
}

const MAX_POINTS = 1800;

export class LiveHistory {
  points: LivePoint[] = [];

  /**
   * When full, it drops every other point, so that it covers the whole run at a coarser resolution.
   * @returns the added point
   */
  add(figures: LiveFigures): LivePoint {
    const point = pointOf(figures);
    this.points.push(point);
    if (this.points.length > MAX_POINTS) this.points = this.points.filter((_, index) => index % 2 === 0);
    return point;
  }
}

function pointOf({ seconds, connections, layers, loops }: LiveFigures): LivePoint {
  const memory = Object.entries(layers).flatMap(([layer, { pssBytes, rssBytes }]) => {
    const bytes = pssBytes ?? rssBytes;
    return bytes === undefined ? [] : [[layer, bytes] as const];
  });
  return {
    seconds,
    connections: connections.now,
    ratePerSec: connections.ratePerSec,
    memoryBytes: Object.fromEntries(memory),
    loopDelayMs: Object.fromEntries(loops.map(({ name, delayP99Ms }) => [name, delayP99Ms])),
  };
}
