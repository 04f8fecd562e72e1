/** Resources of the generator's machine that a run can use, within the limits of its container. */
import type { Result } from '../../protocol/result/result.ts';
import { decimalsText, integerText } from '../text/format.ts';
import { sharesMachine } from './places.ts';

type Environment = Pick<Result['environment'], 'cpuCount' | 'memoryBytes' | 'limits'>;

/** Returns the number of cores that a run can use. With a CPU quota, it can be a fraction of a core. */
export function environmentCores({ cpuCount, limits }: Environment): number {
  return Math.min(cpuCount, ...present(limits.cpusAllowed), ...present(limits.cpuQuotaCores));
}

/**
 * Returns the cores that the deployment can use. On another machine, each worker uses one core, because a worker has
 * one thread.
 */
export function coresOfDeployment(result: Pick<Result, 'run' | 'workers' | 'workerMachines' | 'environment'>): number {
  if (sharesMachine(result)) return environmentCores(result.environment);
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
export function environmentMemoryBytes({ memoryBytes, limits }: Environment): number {
  return Math.min(memoryBytes, ...present(limits.containerMemoryBytes));
}

/** Formats cores as `4` or `0.12`. */
export function coreCountText(cores: number): string {
  return Number.isInteger(cores) ? integerText(cores) : decimalsText(cores, 2);
}

function present(limit: number | undefined): number[] {
  return limit === undefined ? [] : [limit];
}

/** Detects throttling: times in which a CPU quota stopped a container. */
export type ThrottledByWindow = NonNullable<Result['machine']>['throttled'];

type Window = keyof NonNullable<ThrottledByWindow>;

/**
 * Maximum share of throttled periods at which the throttling does not distort figures. A stop lasts up to 100 ms, so
 * one stop in twenty periods already determines the p99.
 */
const MAX_SHARE = 0.05;

export function throttledShare(windows: ThrottledByWindow, window: Window): number {
  const { periods = 0, throttledPeriods = 0 } = windows?.[window] ?? {};
  return periods === 0 ? 0 : throttledPeriods / periods;
}

/** Returns whether the throttling is strong enough to distort figures. */
export function isThrottled(windows: ThrottledByWindow | undefined, window: Window): boolean {
  return throttledShare(windows ?? null, window) > MAX_SHARE;
}
