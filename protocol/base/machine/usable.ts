/** Determines the resources that this process can use. Limits of a container are included. */
import { readFileSync } from 'node:fs';
import { cpus, freemem } from 'node:os';
import { join } from 'node:path';
import type { Cgroup } from '../../wire/control-replies.ts';
import { tryOrUndefined } from '../try-or-undefined.ts';
import { readCgroup } from './cgroup.ts';

/** Returns the numbers of the CPUs that this process may use. A cpuset or an affinity can exclude some CPUs. */
export function allowedCpus(root = '/'): number[] {
  const status = tryOrUndefined(() => readFileSync(join(root, 'proc/self/status'), 'utf8')) ?? '';
  const list = /^Cpus_allowed_list:\s+(\S+)/m.exec(status)?.[1];
  if (list === undefined) return cpus().map((_, cpu) => cpu);
  return list.split(',').flatMap((range) => {
    const [first = 0, last = first] = range.split('-').map(Number);
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
}

/** Returns the number of cores that this process can use. A CPU quota can make it a fraction. */
export function usableCores(root = '/'): number {
  return Math.min(allowedCpus(root).length, lowestCpuQuota(readCgroup(root)) ?? Number.POSITIVE_INFINITY);
}

/** Returns the lowest CPU quota, in cores; undefined if there is no quota. */
export function lowestCpuQuota({ cpu }: Pick<Cgroup, 'cpu'>): number | undefined {
  return cpu.length === 0 ? undefined : Math.min(...cpu.map(({ cores }) => cores));
}

/** Returns the lowest of several limits; undefined if none is below the machine's own limit. */
export function lowestLimit<L extends { max: number }>(limits: L[], ofMachine: number): L | undefined {
  const [lowest] = [...limits].sort((a, b) => a.max - b.max);
  return lowest !== undefined && lowest.max < ofMachine ? lowest : undefined;
}

/** Returns the bytes that can be allocated without swapping, and the limit that determines them. */
export function availableMemory(
  { memory }: Pick<Cgroup, 'memory'>,
  ofMachineBytes = freemem(),
): { bytes: number; limitedBy: 'machine' | 'container' } {
  const availableBytes = memory.flatMap(({ max, used }) => (used === undefined ? [] : max - used));
  const bytes = Math.max(0, Math.min(...availableBytes));
  return bytes < ofMachineBytes ? { bytes, limitedBy: 'container' } : { bytes: ofMachineBytes, limitedBy: 'machine' };
}
