/** Whether a planned fault is on. */
import type { FaultMeasured } from '../measurements/fault-measured.ts';

/** Returns whether a planned fault is still changing the fleet's counts. */
export function isOn(fault: FaultMeasured | undefined): boolean {
  return fault !== undefined && fault.over === undefined;
}

/** @returns whether it was sent while the fault was on */
export function isDuring(fault: FaultMeasured | undefined, atUs: number): boolean {
  return fault !== undefined && atUs >= fault.atUs && (fault.over === undefined || atUs <= fault.over.atUs);
}
