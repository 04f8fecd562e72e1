/** Limits of a deployment that the run has not started itself, by what its workers tell of themselves and their machines. */
import type { Result } from '../../protocol/result/result.ts';
import type { Limit } from './limit-names.ts';

type Measured = Pick<Result, 'workers' | 'workerMachines' | 'environment'>;
/** @returns connections at which a figure reaches that many bytes; null where it has no line */
type Crossing = (figure: string, bytes: number) => number | null;

interface WorkerLimits {
  limits: Limit[];
  unknown: Result['capacity']['unknown'];
}

const UNTOLD = 'the workers do not tell';
const NO_LINE = 'its memory has no line that can be quoted';

/** Files, memory of containers, and memory of machines: whatever is not limited, has no entry. */
export function workerLimits(result: Measured, crossing: Crossing): WorkerLimits {
  const checks = [files(result), containers(result, crossing), machines(result, crossing)];
  return {
    limits: checks.flatMap(({ name, max }) =>
      typeof max === 'number' ? [{ name, max: Math.max(0, Math.floor(max)) }] : [],
    ),
    unknown: checks.flatMap(({ name, max }) => (typeof max === 'string' ? [{ name, why: max }] : [])),
  };
}

/** Its number, why that is not known, or null: there is no such limit. */
interface Check {
  name: Limit['name'];
  max: number | string | null;
}

function files({ workers }: Measured): Check {
  const name = 'workerFileDescriptors';
  if (workers.length === 0) return { name, max: UNTOLD };
  const limits = workers.flatMap(({ openFilesLimit }) => openFilesLimit ?? []);
  // Connections are spread evenly: the first worker that is full refuses some.
  return { name, max: limits.length === 0 ? null : workers.length * Math.min(...limits) };
}

function containers({ workers }: Measured, crossing: Crossing): Check {
  const name = 'workerMemory';
  if (workers.length === 0) return { name, max: UNTOLD };
  const limits = new Map(
    workers.flatMap(({ container, memoryLimitBytes }) =>
      container === null || memoryLimitBytes === null ? [] : [[container, memoryLimitBytes]],
    ),
  );
  if (limits.size === 0) return { name, max: null };
  if (workers.some(({ container }) => container === null)) return { name, max: 'only some workers have a limit' };
  return { name, max: crossing('workerWorkingSet', sum([...limits.values()])) ?? NO_LINE };
}

/** The generator knows its own machine, everything on it included. */
function machines({ workerMachines, environment }: Measured, crossing: Crossing): Check {
  if (workerMachines.length > 0 && workerMachines.every(({ isGenerators }) => isGenerators)) {
    return { name: 'machineMemory', max: crossing('systemUsed', environment.memoryBytes) ?? NO_LINE };
  }
  const name = 'workerMachinesMemory';
  if (workerMachines.length === 0) return { name, max: UNTOLD };
  const bytes = sum(workerMachines.map(({ memoryBytes }) => memoryBytes));
  return { name, max: crossing('workerMachinesUsed', bytes) ?? NO_LINE };
}

function sum(values: number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
