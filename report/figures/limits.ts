/** Computes limits on the number of connections, as reported by the measured deployment and its machines. */
import type { Result } from '../../protocol/result/result.ts';
import { sum } from '../statistics/statistics.ts';

/** Text after the number of each limit, as in `40,000 open files in the workers`. */
const LIMIT_NAMES = {
  workerFileDescriptors: 'open files in the workers',
  machineMemory: 'connections, by the memory of the machine',
  containerMemory: 'connections, by the memory of the container',
  workerMemory: 'connections, by the memory of the workers’ containers',
  workerMachinesMemory: 'connections, by the memory of the workers’ machines',
  pings: 'connections, by the CPU that their pings take',
};

export type LimitName = keyof typeof LIMIT_NAMES;
export const CAPACITY_LIMIT_NAMES = Object.keys(LIMIT_NAMES) as LimitName[];

export interface CapacityLimit {
  name: LimitName;
  /** Connections. */
  max: number;
}

/**
 * Returns the text for a limit. For a limit that only another version of the program knows, the text is the limit's
 * name.
 */
export function limitName(name: string): string {
  return LIMIT_NAMES[name as LimitName] ?? name;
}

/**
 * Returns the limits of a run, the lowest first. Excludes memory budgets, and limits below the number of held
 * connections.
 */
export function capacityLimitsOf({ capacity, connections }: Pick<Result, 'capacity' | 'connections'>): CapacityLimit[] {
  const held = connections.held ?? connections.peak;
  return capacity.limits
    .filter(
      (limit): limit is CapacityLimit => CAPACITY_LIMIT_NAMES.includes(limit.name as LimitName) && limit.max >= held,
    )
    .toSorted((a, b) => a.max - b.max);
}

/** Returns the lowest limit; null if a limit whose value is unknown could be lower. */
export function nextLimit(result: Pick<Result, 'capacity' | 'connections'>): CapacityLimit | null {
  return result.capacity.unknown.length > 0 ? null : (capacityLimitsOf(result)[0] ?? null);
}

/** Share of the limit of open files in use from which a process accepts no more connections. */
const FULL_SHARE = 0.95;

interface FullProcess {
  /** Name of the worker: `worker w0`; empty for a process without a name. */
  worker: string;
  open: number;
  limit: number;
}

/** Returns the server process that has reached its limit of open files. */
export function fullProcess({
  workers,
  environment: { limits },
}: Pick<Result, 'workers' | 'environment'>): FullProcess | undefined {
  const { serverOpenFiles = 0, serverOpenFilesLimit } = limits;
  const reported = workers.map((one) => ({
    worker: `worker ${one.worker}`,
    open: one.openFiles,
    limit: one.openFilesLimit,
  }));
  const read = { worker: '', open: serverOpenFiles, limit: serverOpenFilesLimit ?? null };
  return [...reported, read].flatMap(({ worker, open, limit }) =>
    limit !== null && open !== null && open >= limit * FULL_SHARE ? { worker, open, limit } : [],
  )[0];
}

type Measured = Pick<Result, 'connections' | 'workers' | 'workerMachines' | 'environment'>;
/**
 * Returns the number of connections at which a memory figure reaches this many bytes. Null if the slope of the figure
 * is unknown.
 */
type Crossing = (figure: string, bytes: number) => number | null;
interface Limits {
  limits: CapacityLimit[];
  unknown: Result['capacity']['unknown'];
}
/** The limit, or the reason why it is unknown; null if nothing limits the connections. */
type Check = [name: LimitName, max: number | string | null];

const UNREPORTED = 'the workers do not report it';
const NO_LINE = 'its memory has no line that can be quoted';

/** Computes the limits of a deployment on the generator's machine. */
export function machineLimits({ connections, environment }: Measured, crossing: Crossing): Limits {
  const { openFilesHard, containerMemoryBytes = Number.POSITIVE_INFINITY } = environment.limits;
  const workers = Object.keys(connections.perWorker).length;
  return sorted([
    ['machineMemory', crossing('systemUsed', environment.memoryBytes)],
    ['containerMemory', crossing('containerUsed', containerMemoryBytes)],
    ['workerFileDescriptors', openFilesHard === undefined || workers === 0 ? null : workers * openFilesHard],
  ]);
}

/**
 * Computes the limits of a deployment that the run did not start: open files, and memory of containers and machines.
 */
export function workerLimits(result: Measured, crossing: Crossing): Limits {
  return sorted([files(result), containers(result, crossing), machines(result, crossing)]);
}

function sorted(checks: Check[]): Limits {
  return {
    limits: checks.flatMap(([name, max]) =>
      typeof max === 'number' ? [{ name, max: Math.max(0, Math.floor(max)) }] : [],
    ),
    unknown: checks.flatMap(([name, max]) => (typeof max === 'string' ? [{ name, why: max }] : [])),
  };
}

function files({ workers }: Measured): Check {
  const name = 'workerFileDescriptors';
  if (workers.length === 0) return [name, UNREPORTED];
  const limits = workers.flatMap(({ openFilesLimit }) => openFilesLimit ?? []);
  // The lowest limit of a worker is used for all workers, because connections are spread evenly and the first full
  // worker refuses connections.
  return [name, limits.length === 0 ? null : workers.length * Math.min(...limits)];
}

function containers({ workers }: Measured, crossing: Crossing): Check {
  const name = 'workerMemory';
  if (workers.length === 0) return [name, UNREPORTED];
  const limits = new Map(
    workers.flatMap(({ container, memoryLimitBytes }) =>
      container === null || memoryLimitBytes === null ? [] : [[container, memoryLimitBytes]],
    ),
  );
  if (limits.size === 0) return [name, null];
  if (workers.some(({ container }) => container === null)) return [name, 'only some workers have a limit'];
  return [name, crossing('workerWorkingSet', sum([...limits.values()])) ?? NO_LINE];
}

/** On its own machine, the generator reads the memory, including the memory of all programs. */
function machines({ workers, workerMachines, environment }: Measured, crossing: Crossing): Check {
  if (workerMachines.length > 0 && workerMachines.every(({ isGenerators }) => isGenerators)) {
    return ['machineMemory', crossing('systemUsed', environment.memoryBytes) ?? NO_LINE];
  }
  const name = 'workerMachinesMemory';
  if (workers.length === 0) return [name, UNREPORTED];
  return [name, crossing('workerMachinesUsed', sum(workerMachines.map((one) => one.memoryBytes))) ?? NO_LINE];
}
