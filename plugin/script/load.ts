/** How many connections a scenario asks for: in all, at once, and per second. */
import type { Flow } from './flow.ts';
import { arrivalsOf, type Phase } from './phases.ts';

/**
 * Virtual users that may be there at the same time: all arrivals of flows that hold or whose length nobody knows;
 * otherwise the highest rate times the longest flow. `maxVusers` of a phase drops what would come beyond it.
 * @param arrivals of a phase; default: of the whole scenario's
 * @returns an upper estimate
 */
export function usersAtOnce(phases: Phase[], flows: Flow[], arrivals = arrivalsOf): number {
  const staying = phases.reduce(
    (present, phase) => Math.max(present, Math.min(phase.maxVusers ?? Infinity, present + arrivals(phase))),
    0,
  );
  const staySeconds = Math.max(0, ...flows.map((flow) => flow.staySeconds));
  if (!Number.isFinite(staySeconds)) return staying;
  return Math.min(staying, Math.ceil(Math.max(0, ...phases.map(highestRatePerSec)) * staySeconds));
}

function highestRatePerSec({ pause, duration = 1, arrivalRate = 0, rampTo = 0, arrivalCount = 0 }: Phase): number {
  return pause === undefined ? Math.max(arrivalRate, rampTo, arrivalCount / duration) : 0;
}
