/** Checks whether a planned fault is in progress. */
import type { FaultMeasured } from '../measurements/fault-measured.ts';

/** Returns whether the fault has begun and some of its connections have not reconnected. */
export function isOn(fault: FaultMeasured | undefined): boolean {
  return fault !== undefined && fault.over === undefined;
}

/** Returns whether the time lies within the fault. */
export function isDuring(fault: FaultMeasured | undefined, atUs: number): boolean {
  return fault !== undefined && atUs >= fault.atUs && (fault.over === undefined || atUs <= fault.over.atUs);
}
