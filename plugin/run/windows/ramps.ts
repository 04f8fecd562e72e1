/** Records the ramps of a run. A ramp consists of the phases with arrivals between two pauses. */
import { monotonicUs } from '../../../protocol/base/clock/clock.ts';
import { arrivalsOf, type Phase } from '../../script/load/phases.ts';
import type { Ramp } from '../measurements/measured-windows.ts';

/**
 * Begins a ramp, or adds the phase to the current one.
 * @param beganAtUs when Artillery began it: the run may still have measured the ramp before
 */
export function addPhase(ramps: Ramp[], phase: Phase, beganAtUs: number): void {
  let ramp = ramps.at(-1);
  if (!ramp || ramp.endedAtUs !== Number.POSITIVE_INFINITY) {
    ramp = { beganAtUs, endedAtUs: Number.POSITIVE_INFINITY, seconds: 0, connections: 0 };
    ramps.push(ramp);
  }
  const arrivals = arrivalsOf(phase);
  ramp.seconds += arrivals > 0 ? (phase.duration ?? 0) : 0;
  ramp.connections += arrivals;
}

/** To be called when all arrivals have connected and joined, or the time limit has passed. */
export function endRamp(ramps: Ramp[]): void {
  const ramp = ramps.at(-1);
  if (ramp?.endedAtUs === Number.POSITIVE_INFINITY) ramp.endedAtUs = monotonicUs();
}
