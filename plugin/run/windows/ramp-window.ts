/**
 * Measures CPU use while connections open, over a whole ramp and over its parts. The spread between the parts is the
 * noise of the figure. A ramp consists of the phases with arrivals between two pauses.
 */

import { monotonicUs } from '../../../protocol/base/clock/clock.ts';
import { arrivalsOf, type Phase } from '../../script/load/phases.ts';
import type { Ramp, RampWindow } from '../measurements/measured-windows.ts';
import { ConsecutiveWindows, cpuWindowSince, markWindowStart, type WindowContext } from './cpu-window.ts';

/** Minimum length of a part. A shorter part would have too few of the kernel's CPU ticks. */
const MIN_PART_SECONDS = 1;
const PARTS = 20;

type RampContext = WindowContext & { signal: AbortSignal };

/**
 * Starts a ramp.
 * @param seconds expected length of the ramp, which determines the length of its parts
 */
export async function beginRampWindow(context: RampContext, seconds: number): Promise<{ end(): Promise<RampWindow> }> {
  const { population, signal } = context;
  const before = { ...population.made() };
  const begin = await markWindowStart(context);
  const windows = new ConsecutiveWindows(context, () => population.made().opened);
  const timer = setInterval(() => void windows.next(), 1000 * Math.max(MIN_PART_SECONDS, seconds / PARTS));
  timer.unref();
  const stop = () => clearInterval(timer);
  signal.addEventListener('abort', stop, { once: true });
  return {
    end: async () => {
      stop();
      signal.removeEventListener('abort', stop);
      const { opened, failedAttempts } = { ...population.made() };
      const parts = await windows.end();
      const whole = await cpuWindowSince(context, begin, opened - before.opened);
      return { ...whole, parts, failedAttempts: failedAttempts - before.failedAttempts };
    },
  };
}

/**
 * Starts a ramp, or adds the phase to the current ramp.
 * @param beganAtUs time at which Artillery began the phase, which may be before the end of the previous measurement
 */
export function addRampPhase(ramps: Ramp[], phase: Phase, beganAtUs: number): void {
  let ramp = ramps.at(-1);
  if (!ramp || ramp.endedAtUs !== Number.POSITIVE_INFINITY) {
    ramp = { beganAtUs, endedAtUs: Number.POSITIVE_INFINITY, seconds: 0, connections: 0 };
    ramps.push(ramp);
  }
  const arrivals = arrivalsOf(phase);
  ramp.seconds += arrivals > 0 ? (phase.duration ?? 0) : 0;
  ramp.connections += arrivals;
}

/** Ends a ramp. Must be called when all arrivals have connected and joined, or when the time limit has passed. */
export function endRamp(ramps: Ramp[]): void {
  const ramp = ramps.at(-1);
  if (ramp?.endedAtUs === Number.POSITIVE_INFINITY) ramp.endedAtUs = monotonicUs();
}
