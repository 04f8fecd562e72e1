/** The connection rate that was reached. */
import type { FleetSnapshot } from '../../../protocol/link/snapshot.ts';
import type { Ramp } from '../../run/measurements/windows.ts';

interface Opened {
  atUs: number;
  count: number;
}

/**
 * Connections per second of the ramps. A ramp lasts from its first connection to its last, whatever happened in
 * between, and never shorter than its phases; nor does it make more connections than they ask for (a reconnect is no
 * second one). So the rate cannot be above the configured one, and whatever held up the ramp's end lowers it.
 * @returns null where nothing was opened
 */
export function achievedRate(
  snapshots: Pick<FleetSnapshot, 'openings'>[],
  ramps: Ramp[],
): { perSec: number; seconds: number } | null {
  const opened = openedIn(snapshots);
  let connections = 0;
  let seconds = 0;
  let fromUs = Number.NEGATIVE_INFINITY;
  for (const ramp of ramps) {
    const own = opened.filter(({ atUs }) => atUs > fromUs && atUs <= ramp.endedAtUs);
    connections += Math.min(ramp.connections, count(own));
    seconds += Math.max(ramp.seconds, secondsOf(own.filter(({ atUs }) => atUs >= ramp.beganAtUs)));
    fromUs = ramp.endedAtUs;
  }
  return connections > 0 ? { perSec: connections / seconds, seconds } : null;
}

/** The time from the first to the last connection is one interval short of what all of them take. */
function secondsOf(opened: Opened[]): number {
  const [first, last, all] = [opened[0], opened.at(-1), count(opened)];
  if (!first || !last || all < 2) return 0;
  return ((last.atUs - first.atUs) * all) / (all - 1) / 1e6;
}

/** In the order of time; an interval's connections stand at its start. */
function openedIn(snapshots: Pick<FleetSnapshot, 'openings'>[]): Opened[] {
  return snapshots
    .flatMap(({ openings: { startedAtUs, intervalUs, counts } }) =>
      counts.map((count, index) => ({ atUs: startedAtUs + index * intervalUs, count })),
    )
    .filter(({ count }) => count > 0)
    .sort((a, b) => a.atUs - b.atUs);
}

function count(opened: Opened[]): number {
  return opened.reduce((total, { count }) => total + count, 0);
}
