/** The load of a scenario: how many connections, at which rate, and how many at the same time. */
import type { ScriptPhase } from '../script.ts';
import type { Flow, Repeated } from './flow.ts';
import { arrivalsOf, mostArrivalsOf, type Phase, phasesOfShare, totalArrivals, totalSeconds } from './phases.ts';

export interface Load {
  /** All connections of the scenario: one for each virtual user. */
  connections: number;
  /** An upper estimate if virtual users leave by themselves. */
  connectionsAtOnce: number;
  /** Every virtual user keeps its connections until the run releases it. */
  stays: boolean;
  /** While connections are being opened; null if there are none. */
  ratePerSec: number | null;
  /** What connections send again and again; empty if they do not. */
  messages: Repeated[];
}

/**
 * Virtual users that exist at the same time: all arrivals if a flow holds or has an unknown length; otherwise the most that
 * arrive within the time of the longest flow. A phase drops arrivals beyond its `maxVusers`.
 * @param arrivals of a phase; default: those of the whole scenario
 * @returns an upper estimate
 */
function usersAtOnce(phases: Phase[], flows: Flow[], arrivals = arrivalsOf): number {
  const staying = phases.reduce(
    (present, phase) => Math.max(present, Math.min(phase.maxVusers ?? Infinity, present + arrivals(phase))),
    0,
  );
  const staySeconds = Math.max(0, ...flows.map((flow) => flow.staySeconds));
  if (!Number.isFinite(staySeconds)) return staying;
  return Math.min(staying, mostWithin(staySeconds, phases, arrivals));
}

/** @returns the most arrivals of any time of that length, each phase's at the highest of its rates */
function mostWithin(seconds: number, phases: Phase[], arrivals: (phase: Phase) => number): number {
  let atSeconds = 0;
  const spans = phases.map((phase) => {
    const from = atSeconds;
    atSeconds += phase.pause ?? phase.duration ?? 0;
    return { from, to: atSeconds, most: arrivals(phase), ratePerSec: highestRatePerSec(phase) };
  });
  const starts = spans.flatMap(({ from, to }) => [from, to - seconds]);
  const within = starts.map((start) =>
    spans.reduce((sum, { from, to, most, ratePerSec }) => {
      const overlapSeconds = Math.max(0, Math.min(to, start + seconds) - Math.max(from, start));
      return sum + Math.min(most, Math.ceil(ratePerSec * overlapSeconds));
    }, 0),
  );
  return Math.max(0, ...within);
}

function highestRatePerSec({ pause, duration = 1, arrivalRate = 0, rampTo = 0, arrivalCount = 0 }: Phase): number {
  return pause === undefined ? Math.max(arrivalRate, rampTo, arrivalCount / duration) : 0;
}

/**
 * @param phases of one of Artillery's workers
 * @returns an upper estimate of the connections that the worker holds at the same time
 */
export function connectionsOfShare(phases: ScriptPhase[], flows: Flow[]): number {
  return usersAtOnce(phasesOfShare(phases), flows, mostArrivalsOf);
}

export function loadOf(phases: Phase[], flows: Flow[]): Load {
  return {
    connections: totalArrivals(phases),
    connectionsAtOnce: usersAtOnce(phases, flows),
    stays: flows.every(({ holds }) => holds),
    ratePerSec: configuredRatePerSec(phases),
    messages: flows.flatMap(({ repeated }) => repeated),
  };
}

/** @returns connections per second while connections are being opened; null if there are none */
export function configuredRatePerSec(phases: Phase[]): number | null {
  const seconds = totalSeconds(phases.filter((phase) => arrivalsOf(phase) > 0));
  return seconds > 0 ? totalArrivals(phases) / seconds : null;
}
