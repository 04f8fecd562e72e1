/**
 * Records containers and machines in each measurement window of a run: throttling by CPU quotas, the idle CPU of the
 * workers' machines, and which processes used this machine's CPU.
 */
import { cpus } from 'node:os';
import { readCgroup } from '../../../protocol/base/machine/cgroup.ts';
import { readCpu } from '../../../protocol/base/machine/kernel.ts';
import { allowedCpus } from '../../../protocol/base/machine/usable.ts';
import { tryOrUndefined } from '../../../protocol/base/try-or-undefined.ts';
import type { CpuThrottling, MachineShares } from '../../../protocol/result/machine-schema.ts';
import type { CpuQuota, CpuReading, WorkerMachine, WorkerResources } from '../../../protocol/wire/events.ts';
import { type MachineTotals, machineSharesBetween } from '../../samplers/index.ts';
import type { GeneratorWindow, ShareWindow } from '../measurements/generator-measured.ts';
import type { Measurements } from '../measurements/measurements.ts';

/** Key that stands for the generator in maps whose keys are names of workers. */
export const GENERATOR_KEY = '';

type GeneratorReading = ReturnType<typeof readGenerator>;

interface Reading {
  own: GeneratorReading;
  machine: MachineTotals | undefined;
  workers: WorkerResources[];
  exported: WorkerMachine[];
}

interface Sources {
  workers(): Promise<WorkerResources[]>;
  /** Readings of the workers' machines from node_exporter pages. */
  exported(): Promise<WorkerMachine[]>;
  machine(): Promise<MachineTotals | undefined>;
  own(): GeneratorReading;
}

type ResourceMeasurements = Pick<
  Measurements,
  'throttled' | 'machineIdle' | 'machineSteal' | 'machineShares' | 'workerResources' | 'exportedMachines'
>;

export class ResourceWindows {
  readonly #sources: Sources;
  #begin: Reading = { own: { quotas: [], cpu: undefined }, machine: undefined, workers: [], exported: [] };

  /**
   * @param workers reads the workers that report resources
   * @param sources `machine` resolves to undefined if the machine cannot be read
   */
  constructor(workers: () => Promise<WorkerResources[]>, sources: Partial<Sources> = {}) {
    const none = { exported: async () => [], machine: async () => undefined, own: readGenerator };
    this.#sources = { workers, ...none, ...sources };
  }

  /** Starts a measurement window. Never rejects. */
  async begin(): Promise<void> {
    const { own, machine, workers, exported } = this.#sources;
    const [ofWorkers, ofExporters] = [workers().catch(() => []), exported()];
    this.#begin = { own: own(), machine: await machine(), workers: await ofWorkers, exported: await ofExporters };
  }

  /**
   * Ends the measurement window and starts the next window. If a window has several parts, the worst part counts. For
   * the idle hold, only this machine is recorded. Never rejects.
   */
  async end(window: ShareWindow, noted: ResourceMeasurements): Promise<void> {
    const before = this.#begin;
    await this.begin();
    const now = this.#begin;
    noteShares(noted, window, before.machine, now.machine);
    if (window === 'idle') return;
    noteThrottled(noted, GENERATOR_KEY, window, throttledBetween(before.own.quotas, now.own.quotas));
    noteCpu(noted, GENERATOR_KEY, window, before.own.cpu, now.own.cpu);
    const own = new Set(now.own.quotas.map(({ group }) => group));
    for (const worker of now.workers) {
      const then = before.workers.find((earlier) => earlier.worker === worker.worker);
      // Skips the container of the generator, whose throttling is already recorded.
      const quotas = worker.cgroup.cpu.filter(({ group }) => !own.has(group));
      noteThrottled(noted, worker.worker, window, throttledBetween(then?.cgroup.cpu ?? [], quotas));
      const { kernel, cpu } = worker.machine;
      if (then?.machine.kernel === kernel) noteCpu(noted, kernel, window, then.machine.cpu, cpu);
    }
    for (const machine of now.exported) {
      const then = before.exported.find(({ kernel }) => kernel === machine.kernel);
      noteCpu(noted, machine.kernel, window, then?.cpu, machine.cpu);
      const known = noted.exportedMachines.get(machine.kernel);
      noted.exportedMachines.set(machine.kernel, known ? withPeakMemory(known, machine) : machine);
    }
    // If no worker answers, for example during a planned fault, the values of the previous window stay.
    if (now.workers.length === 0) return;
    noted.workerResources = now.workers.map((worker) =>
      withPeaks(
        noted.workerResources.find((earlier) => earlier.worker === worker.worker),
        worker,
      ),
    );
  }
}

function readGenerator() {
  return { quotas: readCgroup().cpu, cpu: readAllowedCpu() };
}

/** Reads the CPU time of the CPUs that this process may use; undefined if it may use all. */
function readAllowedCpu(): CpuReading | undefined {
  const allowed = allowedCpus();
  // In some containers, /proc/stat numbers the CPUs differently than the list of allowed CPUs, so reading them may
  // fail.
  return allowed.length < cpus().length ? tryOrUndefined(() => readCpu(allowed)) : undefined;
}

/**
 * Returns the throttling from the CPU quota that throttled most often; undefined if no quota was read at both times.
 */
export function throttledBetween(before: CpuQuota[], after: CpuQuota[]): CpuThrottling | undefined {
  const found = after.flatMap((now): CpuThrottling[] => {
    const then = before.find(({ group }) => group === now.group);
    // Throttling is unknown if the container's group has no statistics.
    if (!isCounted(now) || !then || !isCounted(then) || now.periods < then.periods) return [];
    return [
      {
        cores: now.cores,
        periods: now.periods - then.periods,
        throttledPeriods: now.throttledPeriods - then.throttledPeriods,
        throttledMs: (now.throttledUs - then.throttledUs) / 1000,
      },
    ];
  });
  return found.sort((a, b) => shareOf(b) - shareOf(a))[0];
}

function isCounted(quota: CpuQuota): quota is Required<CpuQuota> {
  return quota.periods !== undefined;
}

function noteShares(
  { machineShares }: ResourceMeasurements,
  window: ShareWindow,
  from: MachineTotals | undefined,
  to: MachineTotals | undefined,
): void {
  const now = from && to && machineSharesBetween(from, to);
  const before = machineShares[window];
  if (now && (!before || otherProgramsShare(now) > otherProgramsShare(before))) machineShares[window] = now;
}

/**
 * Returns the share of this machine's CPUs that other programs used, including programs outside this container; 1 means
 * all CPUs.
 */
export function otherProgramsShare(shares: MachineShares): number {
  const { cores, busyCores, oursCores, othersCores, kernelCores, stealCores } = shares;
  const known = (othersCores ?? 0) + stealCores;
  return (oursCores === null ? known : Math.max(known, busyCores - oursCores - (kernelCores ?? 0))) / cores;
}

function noteThrottled(
  { throttled }: ResourceMeasurements,
  worker: string,
  window: GeneratorWindow,
  now: CpuThrottling | undefined,
): void {
  if (!now) return;
  const windows = throttled.get(worker) ?? {};
  const before = windows[window];
  if (!before || shareOf(now) > shareOf(before)) windows[window] = now;
  throttled.set(worker, windows);
}

/**
 * Records the idle and stolen CPU time of a machine. All workers on the machine read the same counters. If their
 * readings differ, the worst reading counts.
 */
function noteCpu(
  { machineIdle, machineSteal }: ResourceMeasurements,
  machine: string,
  window: GeneratorWindow,
  from: WorkerMachine['cpu'],
  to: WorkerMachine['cpu'],
): void {
  if (!from || !to) return;
  const idleUs = to.idleUs - from.idleUs;
  const allUs = idleUs + to.busyUs - from.busyUs;
  // Skips readings from before and after a restart of the machine, which resets its counters.
  if (allUs <= 0 || idleUs < 0 || idleUs > allUs) return;
  const note = (noted: ResourceMeasurements['machineIdle'], us: number, worse: (a: number, b: number) => number) => {
    const windows = noted.get(machine) ?? {};
    const percent = (100 * us) / allUs;
    windows[window] = worse(windows[window] ?? percent, percent);
    noted.set(machine, windows);
  };
  note(machineIdle, idleUs, Math.min);
  note(machineSteal, to.stealUs - from.stealUs, Math.max);
}

/** Returns the current resources of a worker. Open files and memory are the highest values so far. */
function withPeaks(before: WorkerResources | undefined, now: WorkerResources): WorkerResources {
  if (!before) return now;
  return {
    ...now,
    openFiles: max(before.openFiles, now.openFiles),
    machine: withPeakMemory(before.machine, now.machine),
  };
}

function withPeakMemory(before: WorkerMachine, now: WorkerMachine): WorkerMachine {
  return { ...now, usedBytes: max(before.usedBytes, now.usedBytes) };
}

function max(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.max(a, b);
}

function shareOf({ periods, throttledPeriods }: CpuThrottling): number {
  return periods === 0 ? 0 : throttledPeriods / periods;
}
