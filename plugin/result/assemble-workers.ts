/** Builds the figures of the workers: their limits, their machines, and each worker over time. */

import { thisHost } from '../../protocol/base/machine/this-host.ts';
import { lowestLimit } from '../../protocol/base/machine/usable.ts';
import { addSnapshots } from '../../protocol/link/add-up.ts';
import type { Result } from '../../protocol/result/result.ts';
import type { Measurements } from '../run/measurements/measurements.ts';
import { type Sampler, workerMachines } from '../samplers/index.ts';
import { throttledFigures, valuesByWindow } from './assemble-machine.ts';

export function workerFigures(measurements: Measurements): Pick<Result, 'workers' | 'workerMachines'> {
  const { workerResources, exportedMachines, throttled, machineIdle, machineSteal } = measurements;
  const told = workerMachines(workerResources);
  // Two sources may use different names for the same machine, so all machines are taken from one source.
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
      ...(machine.model !== undefined && { model: machine.model }),
      ...(machine.system !== undefined && { system: machine.system }),
      cores: machine.cores,
      memoryBytes: machine.memoryBytes,
      usedBytes: maxOf(workers.map((one) => one.machine.usedBytes)),
      cpuIdlePercent: valuesByWindow(machineIdle.get(machine.kernel)),
      stealPercent: valuesByWindow(machineSteal.get(machine.kernel)),
    })),
  };
}

function maxOf(values: (number | undefined)[]): number | null {
  const known = values.filter((value) => value !== undefined);
  return known.length > 0 ? Math.max(...known) : null;
}

/**
 * Returns the figures of each worker over time. A restarted worker has one entry per process, with the process id in
 * its name.
 */
export function workersOverTime(
  { workersAtStart, workersAtEnd, eventLoops }: Measurements,
  sampler: Pick<Sampler, 'workers'>,
): Result['workersOverTime'] {
  const known = [...workersAtStart, ...workersAtEnd];
  const processes = sampler.workers().map(({ pid, ...process }) => {
    const worker = known.find((one) => one.pid === pid)?.worker;
    const isFirst = !workersAtStart.some((one) => one.worker === worker && one.pid !== pid);
    return {
      worker: worker === undefined ? `process ${pid}` : isFirst ? worker : `${worker}, process ${pid}`,
      process,
    };
  });
  const loops = new Map(
    eventLoops
      .filter(({ seconds }) => seconds.length > 0)
      .map(({ worker, seconds: t, delayP99Ms, delayMaxMs }) => [worker, { t, delayP99Ms, delayMaxMs }]),
  );
  const names = [...new Set([...processes.map(({ worker }) => worker), ...loops.keys()])];
  return names
    .sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))
    .map((worker) => ({
      worker,
      process: processes.find((one) => one.worker === worker)?.process ?? null,
      eventLoop: loops.get(worker) ?? null,
    }));
}

/**
 * Returns the number of connections by worker, for workers without a control URL. Only join acknowledgements name these
 * workers, and their memory is not read.
 */
export function unknownWorkers({ workersAtStart, snapshots }: Measurements): Record<string, number> {
  const known = new Set(workersAtStart.map(({ worker }) => worker));
  const joined = Object.entries(addSnapshots(snapshots).perWorker);
  return Object.fromEntries(joined.filter(([worker]) => known.size > 0 && !known.has(worker)));
}
