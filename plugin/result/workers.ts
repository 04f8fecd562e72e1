/** The workers' limits, and the machines that they run on. */
import { thisHost } from '../../protocol/machine/host.ts';
import { lowestLimit } from '../../protocol/machine/usable.ts';
import type { Result } from '../../protocol/result/result.ts';
import type { Measurements } from '../run/measurements/measurements.ts';
import { workerMachines } from '../samplers/index.ts';
import { inWindows, throttledFigures } from './machine.ts';

type Noted = Pick<Measurements, 'workerResources' | 'exportedMachines' | 'throttled' | 'machineIdle' | 'machineSteal'>;

export function workerFigures({
  workerResources,
  exportedMachines,
  throttled,
  machineIdle,
  machineSteal,
}: Noted): Pick<Result, 'workers' | 'workerMachines'> {
  const told = workerMachines(workerResources);
  // Who knows its machine names it in its own way: only one of them counts, so that no machine is there twice.
  const exported = [...exportedMachines.values()].map((machine) => ({ machine, workers: [{ machine }] }));
  const machines = told.length > 0 ? told : exported;
  const containers: string[] = [];
  const workers = workerResources.map(({ worker, usableCores, openFiles, openFilesLimit, cgroup, machine }) => {
    const memory = lowestLimit(cgroup.memory, machine.memoryBytes);
    const container = memory && `${machine.kernel} ${memory.group}`;
    if (container !== undefined && !containers.includes(container)) containers.push(container);
    return {
      worker,
      machine: machines.findIndex((one) => one.machine.kernel === machine.kernel),
      usableCores,
      openFiles: openFiles ?? null,
      openFilesLimit,
      memoryLimitBytes: memory?.max ?? null,
      container: container === undefined ? null : containers.indexOf(container),
      throttled: throttledFigures(throttled.get(worker)),
    };
  });
  return {
    workers,
    workerMachines: machines.map(({ machine, workers }) => ({
      hostname: machine.hostname,
      isGenerators: machine.kernel === thisHost().kernel,
      cores: machine.cores,
      memoryBytes: machine.memoryBytes,
      usedBytes: maxOf(workers.map((one) => one.machine.usedBytes)),
      cpuIdlePercent: inWindows(machineIdle.get(machine.kernel)),
      stealPercent: inWindows(machineSteal.get(machine.kernel)),
    })),
  };
}

function maxOf(values: (number | undefined)[]): number | null {
  const known = values.filter((value) => value !== undefined);
  return known.length > 0 ? Math.max(...known) : null;
}
