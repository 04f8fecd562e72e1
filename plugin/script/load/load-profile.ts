/** The rate of a scenario's load, and the same load at another rate. */
import type { Environment } from '../options/plugin-options.ts';
import { arrivalsOf, type Phase, totalArrivals, totalSeconds } from './phases.ts';

/** @returns connections per second while connections are being opened; null if there are none */
export function configuredRatePerSec(phases: Phase[]): number | null {
  const seconds = totalSeconds(phases.filter((phase) => arrivalsOf(phase) > 0));
  return seconds > 0 ? totalArrivals(phases) / seconds : null;
}

/**
 * Any number of virtual users at at most about a rate: a ramp (docs/method.md#rate) over whole seconds
 * whose arrivals Artillery rounds to the same whole number in each second, or to that and, later, to one more.
 * Lasts at least two seconds, since Artillery spaces the arrivals of a single one by 1 ms.
 * @returns the fields of a phase that concern arrivals
 */
export function exactRamp(
  arrivals: number,
  ratePerSec: number,
): Required<Pick<Phase, 'duration' | 'arrivalRate' | 'rampTo'>> {
  // 100 arrivals at 100 ÷ 3 a second take 3 seconds, not 4.
  const duration = Math.max(2, Math.ceil(arrivals / ratePerSec - 1e-9));
  const fewer = Math.floor(arrivals / duration);
  const seconds = arrivals - fewer * duration;
  if (seconds === 0) return { duration, arrivalRate: fewer, rampTo: fewer };
  // Rises by 1 in all, and passes the middle between both numbers half a second before the first second with one more.
  const arrivalRate = fewer + 0.5 - (duration - seconds - 0.5) / (duration - 1);
  return { duration, arrivalRate, rampTo: arrivalRate + 1 };
}

/** @returns the phases as `CONNECTIONS`, `DURATION` and `RATE` change them; each keeps what they do not name */
export function resizedPhases(phases: Phase[], variables: Environment): Phase[] {
  const { CONNECTIONS, DURATION, RATE } = variables;
  const largest = Math.max(...phases.map(arrivalsOf));
  return phases.map((phase) => {
    const isResized = CONNECTIONS === undefined && DURATION !== undefined && phase.pause === undefined;
    const sized = isResized ? { ...phase, duration: Math.ceil(DURATION / 1000) } : phase;
    const arrivals = arrivalsOf(sized);
    if (arrivals === 0 || (CONNECTIONS ?? RATE) === undefined) return sized;
    const sizeOf = (whole: number) => Math.max(1, Math.round((whole * (CONNECTIONS ?? largest)) / largest));
    const { arrivalCount: _, ...kept } = sized;
    return { ...kept, ...exactRamp(sizeOf(arrivals), RATE ?? arrivals / (sized.duration ?? 1)) };
  });
}
