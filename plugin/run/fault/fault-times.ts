/** Checks whether a time lies within a planned fault. */
import type { FaultMeasured } from '../measurements/fault-measured.ts';

/** Returns whether the fault has begun and some of the dropped connections have not reconnected yet. */
export function isFaultActive(fault: FaultMeasured | undefined): boolean {
  return fault !== undefined && fault.over === undefined;
}

/** Returns whether a time lies within the planned fault. */
export function isDuringFault(fault: FaultMeasured | undefined, atUs: number): boolean {
  return fault !== undefined && atUs >= fault.atUs && (fault.over === undefined || atUs <= fault.over.atUs);
}
