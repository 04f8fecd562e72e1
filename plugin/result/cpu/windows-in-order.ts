/** The windows of a run in which CPU time was read. */

import type { CpuWindow } from '../../run/measurements/measured-windows.ts';
import type { Measurements } from '../../run/measurements/measurements.ts';

/** @returns all windows, in the order of time */
export function inOrder({ unloaded, ramps, idle, messages, broadcasts }: Measurements['cpu']): CpuWindow[] {
  return [...unloaded, ...ramps, ...idle, ...messages, ...broadcasts];
}
