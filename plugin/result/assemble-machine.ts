/**
 * Builds the figures of the generator's machine: its free CPU and memory, and the generator's event loops and hosts.
 */

import { summarizeHistogramMs } from '../../protocol/base/histogram.ts';
import type { Result } from '../../protocol/result/result.ts';
import type { GeneratorHost, GeneratorWindow, ThrottledWindows } from '../run/measurements/generator-measured.ts';
import type { CpuWindow } from '../run/measurements/measured-windows.ts';
import type { Measurements } from '../run/measurements/measurements.ts';
import { GENERATOR_KEY } from '../run/windows/resource-windows.ts';
import type { Sampler } from '../samplers/index.ts';
import { mergeCpuWindows } from './cpu/assemble-cpu.ts';
import { mergeToHistogram, sum } from './sums.ts';

type OfMachine = NonNullable<Result['machine']>;

export function machineFigures(
  { cpu, hosts, throttled, machineIdle, machineShares }: Measurements,
  sampler: Pick<Sampler, 'swapped'>,
  cpuCount: number,
): OfMachine {
  const swapped = sampler.swapped();
  const windows = windowsOf(machineShares);
  const here = {
    // Uses the busiest ramp. A mean over all ramps would hide the last ramp, in which most connections are open.
    ramp: least(cpu.ramps.flatMap((ramp) => idlePercent(ramp, cpuCount) ?? [])),
    messages: least(cpu.messages.flatMap((part) => idlePercent(part, cpuCount) ?? [])),
    broadcasts: idlePercent(mergeCpuWindows(cpu.broadcasts), cpuCount),
    // A cpuset or CPU affinity keeps the generator from using the other CPUs.
    ...machineIdle.get(GENERATOR_KEY),
  };
  return {
    cpuIdlePercent: hosts ? leastOf(hosts) : here,
    throttled: throttledFigures(throttled.get(GENERATOR_KEY)),
    others: hosts || windows.length === 0 ? null : { windows },
    swappedInBytes: swapped?.inBytes ?? null,
    swappedOutBytes: swapped?.outBytes ?? null,
  };
}

/** Returns the measurement windows in the order of the run. */
function windowsOf(shares: Measurements['machineShares']): NonNullable<OfMachine['others']>['windows'] {
  const order = ['ramp', 'idle', 'messages', 'broadcasts'] as const;
  return order.flatMap((window) => {
    const { [window]: measured } = shares;
    return measured ? [{ window, ...measured }] : [];
  });
}

/**
 * Returns the lowest value among all generator hosts. If there are several hosts, the host of the run itself generates
 * no load.
 */
function leastOf(hosts: GeneratorHost[]): OfMachine['cpuIdlePercent'] {
  const of = (window: GeneratorWindow) => least(hosts.flatMap(({ cpuIdlePercent }) => cpuIdlePercent[window] ?? []));
  return { ramp: of('ramp'), messages: of('messages'), broadcasts: of('broadcasts') };
}

/** Returns the CPU throttling in each measurement window; null without a CPU quota. */
export function throttledFigures(windows: ThrottledWindows | undefined): OfMachine['throttled'] {
  return windows ? valuesByWindow(windows) : null;
}

/** Returns the value of each measurement window; null for a window without a value. */
export function valuesByWindow<T>(known: Partial<Record<GeneratorWindow, T>> = {}): Record<GeneratorWindow, T | null> {
  return { ramp: null, messages: null, broadcasts: null, ...known };
}

function least(percents: number[]): number | null {
  return percents.length > 0 ? Math.min(...percents) : null;
}

/** Returns the idle share of all cores, in percent. */
function idlePercent(window: CpuWindow | undefined, cpuCount: number): number | null {
  const busyUs = window?.cpuUs.system;
  if (!window || busyUs === undefined || window.seconds === 0) return null;
  // The kernel counts in ticks, so the CPU time may exceed the length of the window.
  return Math.max(0, 100 * (1 - busyUs / (window.seconds * 1e6 * cpuCount)));
}

/**
 * Returns a row for each event loop of the generator. Event loops are numbered across all engines, so that each number
 * is unique.
 */
export function generatorFigures({ generator, hosts }: Pick<Measurements, 'generator' | 'hosts'>): Result['generator'] {
  const counted = new Map<string, number>();
  return generator.map(({ from: { engine, host }, process: _, ...loop }) => {
    const kind = `${loop.window} ${loop.part}`;
    const index = counted.get(kind) ?? 0;
    counted.set(kind, index + 1);
    return { ...loop, index, engine, ...(hosts && { host }) };
  });
}

/** Returns a row for each generator host; empty if this host alone generated the load. */
export function generatorHosts(measurements: Measurements): Result['generators'] {
  const { hosts = [], snapshots } = measurements;
  const arrivals = sum(hosts.map((host) => host.arrivals));
  const firstUs = Math.min(...hosts.map(({ beganAtUs }) => beganAtUs ?? Number.POSITIVE_INFINITY));
  return hosts.map((one) => {
    const own = snapshots.filter(({ from }) => from.host === one.host).map(({ accounts }) => accounts);
    return {
      host: one.host,
      cores: one.cores,
      memoryLimitBytes: one.memoryLimitBytes,
      machine: one.machine,
      share: arrivals > 0 ? one.arrivals / arrivals : 0,
      arrivals: one.arrivals,
      connections: sum(own.map(({ alive, ended }) => alive + sum(Object.values(ended)))),
      held: sum(own.map(({ alive }) => alive)),
      failed: sum(own.map(({ failed }) => sum(Object.values(failed)))),
      cpu: { idlePercent: valuesByWindow(one.cpuIdlePercent) },
      others: sharesOf(measurements, one),
      loops: slowestLoop(measurements, one),
      startSkewMs: one.beganAtUs === undefined ? null : (one.beganAtUs - firstUs) / 1000,
      oneWayMs: oneWay(measurements, one),
      clock: one.clock ? { offsetMs: one.clock.offsetUs / 1000, boundMs: one.clock.boundUs / 1000 } : null,
      lost: one.lost ?? null,
    };
  });
}

/** Returns the CPU use of other programs. It is only known if nothing else of the run uses the machine. */
function sharesOf(
  { hosts = [], workerResources, cpu }: Measurements,
  { shares, kernel }: GeneratorHost,
): Result['generators'][number]['others'] {
  const twins =
    hosts.filter((one) => one.kernel === kernel).length +
    workerResources.filter(({ machine }) => machine.kernel === kernel).length;
  const unknown = twins > 1 ? { oursCores: null, othersCores: null, kernelCores: null, programs: [] } : {};
  return (['ramp', 'messages', 'broadcasts'] as const).flatMap((window) => {
    const { [window]: measured } = shares;
    return measured && (window !== 'messages' || cpu.messages.length > 0) ? [{ window, ...measured, ...unknown }] : [];
  });
}

function slowestLoop({ generator }: Measurements, { host }: GeneratorHost): Result['generators'][number]['loops'] {
  const own = generator.filter(({ from }) => from.host === host);
  if (own.length === 0) return null;
  return {
    delayP99Ms: Math.max(...own.map(({ delayP99Ms }) => delayP99Ms)),
    delayMaxMs: Math.max(...own.map(({ delayMaxMs }) => delayMaxMs)),
    utilization: Math.max(...own.map(({ utilization }) => utilization)),
  };
}

/** Returns the one-way latencies that connections of this host measured. */
function oneWay({ frozen }: Measurements, { host }: GeneratorHost): Result['generators'][number]['oneWayMs'] {
  const own = frozen.filter((row) => row.host === host);
  const latency = mergeToHistogram(own.flatMap(({ latencyUs }) => [latencyUs.local, latencyUs.cross]));
  const broadcasts = new Set(own.filter(({ received }) => received > 0).map(({ seq }) => seq));
  return summarizeHistogramMs(latency, broadcasts.size);
}
