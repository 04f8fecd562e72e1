/** The history for the charts of a page that is opened late. It never grows beyond a few hundred KB. */
import type { LiveFigures } from './live-figures.ts';

type LivePoint = ReturnType<typeof pointOf>;

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

/** @returns one point of each chart; the memory of a layer is its PSS, or RSS without PSS */
function pointOf({ seconds, connections: { achievedRatePerSec: ratePerSec }, samples, generator }: LiveFigures) {
  const memoryBytes = Object.entries(samples).flatMap(([layer, sample]) => {
    const bytes = typeof sample === 'number' ? undefined : (sample.pssBytes ?? sample.rssBytes);
    return bytes === undefined ? [] : [[layer, bytes] as const];
  });
  const { connections } = samples;
  return {
    ...{ seconds, connections, ratePerSec, memoryBytes: Object.fromEntries(memoryBytes) },
    loopDelayMs: generator.delayP99Ms,
  };
}
