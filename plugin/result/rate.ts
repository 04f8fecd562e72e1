/** The connection rate that was reached. */
import type { FleetSnapshot } from '../../protocol/link.ts';

/** Longer than this without a connection is a pause between ramps. */
const PAUSE_US = 1_000_000;

/**
 * Connections per second while connections were being made. A ramp's time goes from its first connection to its last,
 * which is one interval short, so that one connection of each ramp is left out of the count.
 */
export function achievedRate(
  snapshots: Pick<FleetSnapshot, 'openings'>[],
  configuredRatePerSec: number | null,
): { perSec: number; seconds: number } | null {
  const startedAtUs = Math.min(...snapshots.map(({ openings }) => openings.startedAtUs));
  const perInterval = new Map<number, number>();
  const intervalUs = snapshots[0]?.openings.intervalUs ?? 1;
  for (const { openings } of snapshots) {
    const shift = Math.round((openings.startedAtUs - startedAtUs) / intervalUs);
    openings.counts.forEach((count, index) => {
      if (count > 0) perInterval.set(index + shift, (perInterval.get(index + shift) ?? 0) + count);
    });
  }
  const busy = [...perInterval.keys()].sort((a, b) => a - b);
  const pauseIntervals = Math.max(PAUSE_US, 3_000_000 / (configuredRatePerSec || 1)) / intervalUs;
  let intervals = 0;
  let connections = 0;
  let rampStart = busy[0];
  for (let index = 0; index < busy.length; index++) {
    const at = busy[index] as number;
    connections += perInterval.get(at) as number;
    const next = busy[index + 1];
    if (next !== undefined && next - at < pauseIntervals) continue;
    intervals += at - (rampStart as number);
    connections -= 1;
    rampStart = next;
  }
  if (intervals === 0 || connections === 0) return null;
  const seconds = (intervals * intervalUs) / 1e6;
  return { perSec: connections / seconds, seconds };
}
