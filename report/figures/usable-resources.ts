/** Resources of the generator's machine that a run can use: limits of its container count as the machine's. */
import type { Result } from '../../protocol/result/result.ts';
import { decimals, integer } from '../text/format.ts';
import { sharesMachine } from './place.ts';

type Environment = Pick<Result['environment'], 'cpuCount' | 'memoryBytes' | 'limits'>;

/** @returns cores; a fraction where a quota of CPU time is worth one */
export function usableCores({ cpuCount, limits }: Environment): number {
  return Math.min(cpuCount, ...present(limits.cpusAllowed), ...present(limits.cpuQuotaCores));
}

/** @returns cores that the deployment can use; of one that runs elsewhere, its workers, each of which has one thread */
export function coresOfDeployment(result: Pick<Result, 'run' | 'workers' | 'workerMachines' | 'environment'>): number {
  if (sharesMachine(result)) return usableCores(result.environment);
  const ofMachines = result.workerMachines.map(({ cores }, index) => {
    const workers = result.workers.filter(({ machine }) => machine === index);
    return Math.min(
      cores,
      workers.reduce((sum, worker) => sum + Math.min(1, worker.usableCores), 0),
    );
  });
  return ofMachines.reduce((sum, cores) => sum + cores, 0);
}

/** @returns bytes */
export function usableMemory({ memoryBytes, limits }: Environment): number {
  return Math.min(memoryBytes, ...present(limits.containerMemoryBytes));
}

/** @returns `4`, or `0.12` */
export function coreCount(cores: number): string {
  return Number.isInteger(cores) ? integer(cores) : decimals(cores, 2);
}

function present(limit: number | undefined): number[] {
  return limit === undefined ? [] : [limit];
}
