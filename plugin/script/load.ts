/** How many virtual users of a scenario exist at the same time. */
import type { Flow } from './flow.ts';
import { arrivalsOf, type Phase } from './phases.ts';

/**
 * Virtual users that exist at the same time: all arrivals if a flow holds or has an unknown length; otherwise the highest
 * rate times the longest flow. A phase drops arrivals beyond its `maxVusers`.
 * @param arrivals of a phase; default: those of the whole scenario
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
