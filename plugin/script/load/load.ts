/** Computes the load of a scenario: number of connections, their rate, and their messages. */
import type { ScriptPhase } from '../script.ts';
import type { Flow, RepeatedFlowMessage } from './flow.ts';
import { arrivalsOf, maxArrivalsOf, type Phase, phasesOfShare, totalArrivals, totalSeconds } from './phases.ts';

export interface ScenarioLoad {
  /** Total number of connections in the run: one for each virtual user. */
  connections: number;
  /** Largest number of concurrent connections. It is an upper estimate if virtual users leave by themselves. */
  connectionsAtOnce: number;
  /** Whether all virtual users keep their connections until the run releases them. */
  stays: boolean;
  /** Whether all virtual users leave by themselves, before the run releases them. */
  leaves: boolean;
  /** Upper estimate of the seconds for which a virtual user stays; infinite if the script sets no limit. */
  staySeconds: number;
  /** Mean rate of new connections per second, over the phases with arrivals; null if there are no arrivals. */
  ratePerSec: number | null;
  /** Messages that the scenario's connections send repeatedly. */
  messages: RepeatedFlowMessage[];
}

/**
 * Returns an upper estimate of the number of concurrent virtual users: all arrivals if a flow holds or its length is
 * unknown; otherwise the most arrivals within the duration of the longest flow. Artillery drops arrivals beyond a
 * phase's `maxVusers`.
 * @param arrivals returns the number of arrivals of a phase
 */
function usersAtOnce(phases: Phase[], flows: Flow[], arrivals = arrivalsOf): number {
  const allStaying = phases.reduce(
    (present, phase) => Math.max(present, Math.min(phase.maxVusers ?? Infinity, present + arrivals(phase))),
    0,
  );
  const staySeconds = longestStay(flows);
  if (!Number.isFinite(staySeconds)) return allStaying;
  return Math.min(allStaying, maxArrivalsWithin(staySeconds, phases, arrivals));
}

function longestStay(flows: Flow[]): number {
  return Math.max(0, ...flows.map(({ staySeconds }) => staySeconds));
}

/**
 * Returns the largest number of arrivals in any period of the given length, if each phase always has its highest rate.
 */
function maxArrivalsWithin(seconds: number, phases: Phase[], arrivals: (phase: Phase) => number): number {
  let atSeconds = 0;
  const spans = phases.map((phase) => {
    const from = atSeconds;
    atSeconds += phase.pause ?? phase.duration ?? 0;
    return { from, to: atSeconds, max: arrivals(phase), ratePerSec: highestRatePerSec(phase) };
  });
  const starts = spans.flatMap(({ from, to }) => [from, to - seconds]);
  const within = starts.map((start) =>
    spans.reduce((sum, { from, to, max, ratePerSec }) => {
      const overlapSeconds = Math.max(0, Math.min(to, start + seconds) - Math.max(from, start));
      return sum + Math.min(max, Math.ceil(ratePerSec * overlapSeconds));
    }, 0),
  );
  return Math.max(0, ...within);
}

function highestRatePerSec({ pause, duration = 1, arrivalRate = 0, rampTo = 0, arrivalCount = 0 }: Phase): number {
  return pause === undefined ? Math.max(arrivalRate, rampTo, arrivalCount / duration) : 0;
}

/**
 * Returns an upper estimate of the concurrent connections of one Artillery worker.
 * @param phases the worker's share of the phases
 */
export function connectionsOfShare(phases: ScriptPhase[], flows: Flow[]): number {
  return usersAtOnce(phasesOfShare(phases), flows, maxArrivalsOf);
}

export function scenarioLoadOf(phases: Phase[], flows: Flow[]): ScenarioLoad {
  return {
    connections: totalArrivals(phases),
    connectionsAtOnce: usersAtOnce(phases, flows),
    stays: flows.every(({ holds }) => holds),
    leaves: flows.length > 0 && !flows.some(({ holds }) => holds),
    staySeconds: longestStay(flows),
    ratePerSec: configuredRatePerSec(phases),
    messages: flows.flatMap(({ repeated }) => repeated),
  };
}

/**
 * Returns the mean rate of new connections per second, over the phases with arrivals; null if there are no arrivals.
 */
export function configuredRatePerSec(phases: Phase[]): number | null {
  const seconds = totalSeconds(phases.filter((phase) => arrivalsOf(phase) > 0));
  return seconds > 0 ? totalArrivals(phases) / seconds : null;
}
