/** Cores of a machine, or of a container with a quota of CPU time, in words. */
import { decimals } from '../../report/text/format.ts';
import type { Machine } from './machine.ts';

type Cores = Pick<Machine, 'cores' | 'cpuQuota'>;

/** @returns `2 cores`, or `0.5 cores (CPU quota of the container)` */
export function coresText(machine: Cores): string {
  const cores = `${decimals(machine.cores, Number.isInteger(machine.cores) ? 0 : 2)} cores`;
  return isQuota(machine) ? `${cores} (CPU quota of the container)` : cores;
}

/** @returns what to raise, as in "or 4 cores" */
export function coresNeeded(machine: Cores, cores: number): string {
  return isQuota(machine) ? `a CPU quota of ${Math.ceil(cores)} cores` : `${Math.ceil(cores)} cores`;
}

function isQuota({ cores, cpuQuota }: Cores): boolean {
  return cpuQuota !== null && cpuQuota <= cores;
}
