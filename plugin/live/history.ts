/** Chart history for a page that is opened during the run. It never grows beyond a few hundred KB. */
import type { LiveFigures } from './live-figures.ts';

type LivePoint = ReturnType<typeof pointOf>;

const MAX_POINTS = 1800;

export class LiveHistory {
  points: LivePoint[] = [];

  /**
   * Adds a point. When full, drops every other point, so that the history covers the whole run at a coarser resolution.
   * @returns the added point
   */
  add(figures: LiveFigures): LivePoint {
    const point = pointOf(figures);
    this.points.push(point);
    if (this.points.length > MAX_POINTS) this.points = this.points.filter((_, index) => index % 2 === 0);
    return point;
  }
}

/** Returns one point for each chart. A layer's memory is its PSS, or its RSS if the PSS is unknown. */
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
