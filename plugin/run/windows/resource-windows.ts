/**
 * What containers and machines did in each window of a run: how often a quota of CPU time stopped the generator and the
 * workers, how much CPU the workers' machines had left, and who used that of this one.
 */
import { cpus } from 'node:os';
import { attempt } from '../../../protocol/base/attempt.ts';
import { readCgroup } from '../../../protocol/base/machine/cgroup.ts';
import { readCpu } from '../../../protocol/base/machine/kernel.ts';
import { allowedCpus } from '../../../protocol/base/machine/usable.ts';
import type { MachineShares, Throttled } from '../../../protocol/result/machine-schema.ts';
import type { CpuQuota, CpuReading, WorkerMachine, WorkerResources } from '../../../protocol/wire/events.ts';
import { type MachineTotals, sharesBetween } from '../../samplers/index.ts';
import type { GeneratorWindow, ShareWindow } from '../measurements/generator-measured.ts';
import type { Measurements } from '../measurements/measurements.ts';

/** The generator among the workers. */
export const GENERATOR = '';

/** The generator's. */
type OwnReading = ReturnType<typeof readOwn>;

interface Reading {
  own: OwnReading;
  machine: MachineTotals | undefined;
  workers: WorkerResources[];
  exported: WorkerMachine[];
}

interface Sources {
  workers(): Promise<WorkerResources[]>;
  /** The workers' machines, by exporters. */
  exported(): Promise<WorkerMachine[]>;
  machine(): Promise<MachineTotals | undefined>;
  own(): OwnReading;
}

type Noted = Pick<
  Measurements,
  'throttled' | 'machineIdle' | 'machineSteal' | 'machineShares' | 'workerResources' | 'exportedMachines'
>;

export class ResourceWindows {
  readonly #sources: Sources;
  #begin: Reading = { own: { quotas: [], cpu: undefined }, machine: undefined, workers: [], exported: [] };

  /** @param workers without those that do not tell @param sources `machine` is undefined where this machine does not tell */
  constructor(workers: () => Promise<WorkerResources[]>, sources: Partial<Sources> = {}) {
    const none = { exported: async () => [], machine: async () => undefined, own: readOwn };
    this.#sources = { workers, ...none, ...sources };
  }

  /** Starts a window; what happened before does not count. Never rejects. */
  async begin(): Promise<void> {
    const { own, machine, workers, exported } = this.#sources;
    const [ofWorkers, ofExporters] = [workers().catch(() => []), exported()];
    this.#begin = { own: own(), machine: await machine(), workers: await ofWorkers, exported: await ofExporters };
  }

  /**
   * Ends the window, and starts the next one. Of several parts of a window, the worst counts. In the idle hold, nothing but this
   * machine is looked at. Never rejects.
   */
  async end(window: ShareWindow, noted: Noted): Promise<void> {
    const before = this.#begin;
    await this.begin();
    const now = this.#begin;
    noteShares(noted, window, before.machine, now.machine);
    if (window === 'idle') return;
    noteThrottled(noted, GENERATOR, window, throttledBetween(before.own.quotas, now.own.quotas));
    noteCpu(noted, GENERATOR, window, before.own.cpu, now.own.cpu);
    const own = new Set(now.own.quotas.map(({ group }) => group));
    for (const worker of now.workers) {
      const then = before.workers.find((one) => one.worker === worker.worker);
      // A worker in the generator's own group is stopped with it, and says nothing new.
      const quotas = worker.cgroup.cpu.filter(({ group }) => !own.has(group));
      noteThrottled(noted, worker.worker, window, throttledBetween(then?.cgroup.cpu ?? [], quotas));
      const { kernel, cpu } = worker.machine;
      if (then?.machine.kernel === kernel) noteCpu(noted, kernel, window, then.machine.cpu, cpu);
    }
    for (const machine of now.exported) {
      const then = before.exported.find(({ kernel }) => kernel === machine.kernel);
      noteCpu(noted, machine.kernel, window, then?.cpu, machine.cpu);
      const known = noted.exportedMachines.get(machine.kernel);
      noted.exportedMachines.set(machine.kernel, known ? fuller(known, machine) : machine);
    }
    // What cannot be asked now, such as during a planned fault, is as it was.
    if (now.workers.length === 0) return;
    noted.workerResources = now.workers.map((worker) =>
      highest(
        noted.workerResources.find((one) => one.worker === worker.worker),
        worker,
      ),
    );
  }
}

function readOwn() {
  return { quotas: readCgroup().cpu, cpu: readAllowedCpu() };
}

/** The CPUs that it may run on, if these are not all. */
function readAllowedCpu(): CpuReading | undefined {
  const allowed = allowedCpus();
  // A container can have a /proc/stat of its own, with other CPUs.
  return allowed.length < cpus().length ? attempt(() => readCpu(allowed)) : undefined;
}

/** @returns of the quota that stopped it most often; undefined without a quota at both times */
export function throttledBetween(before: CpuQuota[], after: CpuQuota[]): Throttled | undefined {
  const found = after.flatMap((now): Throttled[] => {
    const then = before.find(({ group }) => group === now.group);
    // Without its statistics, a group is not known to be stopped, nor not to be.
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
  { machineShares }: Noted,
  window: ShareWindow,
  from: MachineTotals | undefined,
  to: MachineTotals | undefined,
): void {
  const now = from && to && sharesBetween(from, to);
  const before = machineShares[window];
  if (now && (!before || takenShare(now) > takenShare(before))) machineShares[window] = now;
}

/** What others took of the CPUs, with those that a container does not see: 1 is all. */
export function takenShare(shares: MachineShares): number {
  const { cores, busyCores, oursCores, othersCores, kernelCores, stealCores } = shares;
  const known = (othersCores ?? 0) + stealCores;
  return (oursCores === null ? known : Math.max(known, busyCores - oursCores - (kernelCores ?? 0))) / cores;
}

function noteThrottled({ throttled }: Noted, who: string, window: GeneratorWindow, now: Throttled | undefined): void {
  if (!now) return;
  const windows = throttled.get(who) ?? {};
  const before = windows[window];
  if (!before || shareOf(now) > shareOf(before)) windows[window] = now;
  throttled.set(who, windows);
}

/** All workers of a machine read the same counters, a moment apart. */
function noteCpu(
  { machineIdle, machineSteal }: Noted,
  machine: string,
  window: GeneratorWindow,
  from: WorkerMachine['cpu'],
  to: WorkerMachine['cpu'],
): void {
  if (!from || !to) return;
  const idleUs = to.idleUs - from.idleUs;
  const allUs = idleUs + to.busyUs - from.busyUs;
  // An exporter's counters start anew with its machine.
  if (allUs <= 0 || idleUs < 0 || idleUs > allUs) return;
  const note = (noted: Noted['machineIdle'], us: number, worse: (a: number, b: number) => number) => {
    const windows = noted.get(machine) ?? {};
    const percent = (100 * us) / allUs;
    windows[window] = worse(windows[window] ?? percent, percent);
    noted.set(machine, windows);
  };
  note(machineIdle, idleUs, Math.min);
  note(machineSteal, to.stealUs - from.stealUs, Math.max);
}

/** As it is now, with the highest so far of what goes up and down. */
function highest(before: WorkerResources | undefined, now: WorkerResources): WorkerResources {
  if (!before) return now;
  return {
    ...now,
    openFiles: max(before.openFiles, now.openFiles),
    machine: fuller(before.machine, now.machine),
  };
}

function fuller(before: WorkerMachine, now: WorkerMachine): WorkerMachine {
  return { ...now, usedBytes: max(before.usedBytes, now.usedBytes) };
}

function max(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.max(one, other);
}

function shareOf({ periods, throttledPeriods }: Throttled): number {
  return periods === 0 ? 0 : throttledPeriods / periods;
}
