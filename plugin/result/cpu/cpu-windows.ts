/** Several windows of CPU as one. */
import type { CpuWindow } from '../../run/measurements/windows.ts';
import { sum } from '../sums.ts';

/** @returns undefined without windows */
export function wholeWindow(windows: CpuWindow[]): CpuWindow | undefined {
  if (windows.length === 0) return undefined;
  const layers = new Set(windows.flatMap(({ cpuUs }) => Object.keys(cpuUs)));
  return {
    seconds: sum(windows.map(({ seconds }) => seconds)),
    units: sum(windows.map(({ units }) => units)),
    cpuUs: Object.fromEntries([...layers].map((layer) => [layer, sum(windows.map(({ cpuUs }) => cpuUs[layer] ?? 0))])),
  };
}
