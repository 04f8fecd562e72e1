/** Resources of the generator's machine that a run can use, within the limits of its container. */
import type { Result } from '../../protocol/result/result.ts';
import { decimals, integer } from '../text/format.ts';
import { sharesMachine } from './places.ts';

type Environment = Pick<Result['environment'], 'cpuCount' | 'memoryBytes' | 'limits'>;

/** Returns cores; a fraction for a CPU quota. */
export function usableCores({ cpuCount, limits }: Environment): number {
  return Math.min(cpuCount, ...present(limits.cpusAllowed), ...present(limits.cpuQuotaCores));
}

/** Returns the cores that the deployment can use. A deployment on another machine uses one per worker, because a worker has one thread. */
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

/** Returns bytes. */
export function usableMemory({ memoryBytes, limits }: Environment): number {
  return Math.min(memoryBytes, ...present(limits.containerMemoryBytes));
}

/** Formats cores as `4` or `0.12`. */
export function coreCount(cores: number): string {
  return Number.isInteger(cores) ? integer(cores) : decimals(cores, 2);
}

function present(limit: number | undefined): number[] {
  return limit === undefined ? [] : [limit];
}

/** Time for which a CPU quota stopped a container. */
export type Throttled = NonNullable<Result['machine']>['throttled'];

type Window = keyof NonNullable<Throttled>;

/** Share of the periods. A group that is stopped in one of twenty waits up to 100 ms each time, which is its p99. */
const MAX_SHARE = 0.05;

export function throttledShare(windows: Throttled, window: Window): number {
  const { periods = 0, throttledPeriods = 0 } = windows?.[window] ?? {};
  return periods === 0 ? 0 : throttledPeriods / periods;
}

/** Returns whether the throttling matters. */
export function isThrottled(windows: Throttled | undefined, window: Window): boolean {
  return throttledShare(windows ?? null, window) > MAX_SHARE;
}
