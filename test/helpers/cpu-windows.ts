/** Windows of a run with a known CPU time of a worker. */
import assert from 'node:assert/strict';
import { cpuFigures } from '../../plugin/result/cpu/assemble-cpu.ts';
import type { CpuWindow, RampWindow } from '../../plugin/run/measurements/measured-windows.ts';
import type { Measurements } from '../../plugin/run/measurements/measurements.ts';
import { LAYERS } from '../../plugin/samplers/layers/index.ts';
import { measurements } from './measurements.ts';

/** Returns a window in which the worker used `workerUs` microseconds. */
export const window = (seconds: number, units: number, workerUs: number, held = 1000): CpuWindow => ({
  ...{ seconds, secondsAtMost: seconds, units, held },
  cpuUs: { worker: workerUs },
});

/** Returns windows of one second each. */
export const parts = (units: number, ...us: number[]) => us.map((workerUs) => window(1, units, workerUs));

export type Windows = Partial<Measurements['cpu']>;

export function workerOf(cpu: Windows) {
  const all = { unloaded: [], ramps: [], idle: [], messages: [], broadcasts: [], ...cpu };
  const { worker } = cpuFigures(measurements({ cpu: all }), LAYERS);
  assert.ok(worker);
  return worker;
}

/**
 * Returns a ramp of four seconds with a thousand connects, which starts at `before` connections.
 * @param us CPU time in each second, in microseconds
 */
export function ramp(us: number, before = 0, failedAttempts = 0): RampWindow {
  const parts = [0, 1, 2, 3].map((part) => window(1, 250, us, before + 125 + 250 * part));
  return { ...window(4, 1000, 4 * us, before + 500), parts, failedAttempts };
}
