/** How much CPU and memory the generator's machine had left. */
import type { Result } from '../../protocol/result/result.ts';
import type { CpuWindow, Measurements } from '../run/measurements.ts';
import type { Sampler } from '../samplers/index.ts';

export function machineFigures(
  { cpu }: Measurements,
  sampler: Pick<Sampler, 'swapped'>,
  cpuCount: number,
): NonNullable<Result['machine']> {
  const swapped = sampler.swapped();
  return {
    cpuIdlePercent: {
      ramp: leastIdle(cpu.ramps, cpuCount),
      messages: leastIdle(cpu.messages, cpuCount),
      broadcasts: idlePercent(cpu.broadcast, cpuCount),
    },
    swappedInBytes: swapped?.inBytes ?? null,
    swappedOutBytes: swapped?.outBytes ?? null,
  };
}

/** An average over all ramps would hide the last one, in which most is connected. */
function leastIdle(ramps: CpuWindow[], cpuCount: number): number | null {
  const percents = ramps.flatMap((ramp) => idlePercent(ramp, cpuCount) ?? []);
  return percents.length > 0 ? Math.min(...percents) : null;
}

/** 100 is all cores. */
function idlePercent(window: CpuWindow | undefined, cpuCount: number): number | null {
  const busyUs = window?.cpuUs.system;
  if (!window || busyUs === undefined || window.seconds === 0) return null;
  // The kernel counts in ticks.
  return Math.max(0, 100 * (1 - busyUs / (window.seconds * 1e6 * cpuCount)));
}
