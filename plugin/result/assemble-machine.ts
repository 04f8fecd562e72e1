/** How much CPU and memory the generator's machine had left. */
import type { Result } from '../../protocol/result/result.ts';
import type { GeneratorHost, GeneratorWindow, ThrottledWindows } from '../run/measurements/generator-measured.ts';
import type { CpuWindow } from '../run/measurements/measured-windows.ts';
import type { Measurements } from '../run/measurements/measurements.ts';
import { GENERATOR } from '../run/windows/resource-windows.ts';
import type { Sampler } from '../samplers/index.ts';
import { wholeWindow } from './cpu/assemble-cpu.ts';

type OfMachine = NonNullable<Result['machine']>;

export function machineFigures(
  { cpu, hosts, throttled, machineIdle, machineShares }: Measurements,
  sampler: Pick<Sampler, 'swapped'>,
  cpuCount: number,
): OfMachine {
  const swapped = sampler.swapped();
  const windows = windowsOf(machineShares);
  const here = {
    // An average over all ramps would hide the last one, in which most is connected.
    ramp: least(cpu.ramps.flatMap((ramp) => idlePercent(ramp, cpuCount) ?? [])),
    messages: least(cpu.messages.flatMap((part) => idlePercent(part, cpuCount) ?? [])),
    broadcasts: idlePercent(wholeWindow(cpu.broadcasts), cpuCount),
    // A cpuset or an affinity makes the other CPUs unusable.
    ...machineIdle.get(GENERATOR),
  };
  return {
    cpuIdlePercent: hosts ? leastOf(hosts) : here,
    throttled: throttledFigures(throttled.get(GENERATOR)),
    others: hosts || windows.length === 0 ? null : { windows },
    swappedInBytes: swapped?.inBytes ?? null,
    swappedOutBytes: swapped?.outBytes ?? null,
  };
}

/** In the order of the run. */
function windowsOf(shares: Measurements['machineShares']): NonNullable<OfMachine['others']>['windows'] {
  const order = ['ramp', 'idle', 'messages', 'broadcasts'] as const;
  return order.flatMap((window) => {
    const { [window]: measured } = shares;
    return measured ? [{ window, ...measured }] : [];
  });
}

/** The host of the run brings no load itself. */
function leastOf(hosts: GeneratorHost[]): OfMachine['cpuIdlePercent'] {
  const of = (window: GeneratorWindow) => least(hosts.flatMap(({ cpuIdlePercent }) => cpuIdlePercent[window] ?? []));
  return { ramp: of('ramp'), messages: of('messages'), broadcasts: of('broadcasts') };
}

/** @returns null without a quota */
export function throttledFigures(windows: ThrottledWindows | undefined): OfMachine['throttled'] {
  return windows ? inWindows(windows) : null;
}

/** @returns null for windows of which nothing is known */
export function inWindows<T>(known: Partial<Record<GeneratorWindow, T>> = {}): Record<GeneratorWindow, T | null> {
  return { ramp: null, messages: null, broadcasts: null, ...known };
}

function least(percents: number[]): number | null {
  return percents.length > 0 ? Math.min(...percents) : null;
}

/** 100 is all cores. */
function idlePercent(window: CpuWindow | undefined, cpuCount: number): number | null {
  const busyUs = window?.cpuUs.system;
  if (!window || busyUs === undefined || window.seconds === 0) return null;
  // The kernel counts in ticks.
  return Math.max(0, 100 * (1 - busyUs / (window.seconds * 1e6 * cpuCount)));
}
