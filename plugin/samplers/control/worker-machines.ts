/** Lists the machines and containers on which workers run. */

import { readCgroup } from '../../../protocol/base/machine/cgroup.ts';
import { thisHost } from '../../../protocol/base/machine/this-host.ts';
import { lowestLimit } from '../../../protocol/base/machine/usable.ts';
import type { CgroupLimit, WorkerMachine, WorkerResources } from '../../../protocol/wire/events.ts';
import { SourceAbsentError } from '../absence.ts';

/** Returns each machine once, with the names of its workers, in the order of the workers. */
export function workerMachines(resources: WorkerResources[]): { machine: WorkerMachine; workers: WorkerResources[] }[] {
  const byKernel = Map.groupBy(resources, ({ machine }) => machine.kernel);
  return [...byKernel.values()].flatMap((workers) => {
    const [first] = workers;
    return first ? [{ machine: first.machine, workers }] : [];
  });
}

/**
 * Returns the memory limits of the workers' containers. Empty if a worker has no limit below its machine's memory, or
 * if the generator is in one of the containers.
 * @throws SourceAbsentError if a container does not report its memory use
 */
export function workerContainers(resources: WorkerResources[]): CgroupLimit[] {
  const own = new Set(readCgroup().memory.map(({ group }) => group));
  const here = thisHost().kernel;
  const limits = new Map<string, CgroupLimit>();
  for (const { cgroup, machine } of resources) {
    const limit = lowestLimit(cgroup.memory, machine.memoryBytes);
    if (!limit || (machine.kernel === here && own.has(limit.group))) return [];
    const { used } = limit;
    if (used === undefined)
      throw new SourceAbsentError('refused', 'a control group of the workers does not report its memory use');
    limits.set(`${machine.kernel} ${limit.group}`, { ...limit, used });
  }
  return [...limits.values()];
}
