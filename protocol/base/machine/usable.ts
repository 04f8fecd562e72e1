/** What this process can use of its machine: a container's limits count as the machine's. */
import { readFileSync } from 'node:fs';
import { cpus, freemem } from 'node:os';
import { join } from 'node:path';
import type { Cgroup } from '../../wire/control-replies.ts';
import { attempt } from '../attempt.ts';
import { readCgroup } from './cgroup.ts';

/** @returns CPUs that it may run on: all, or those of its cpuset or affinity */
export function allowedCpus(root = '/'): number[] {
  const status = attempt(() => readFileSync(join(root, 'proc/self/status'), 'utf8')) ?? '';
  const list = /^Cpus_allowed_list:\s+(\S+)/m.exec(status)?.[1];
  if (list === undefined) return cpus().map((_, cpu) => cpu);
  return list.split(',').flatMap((range) => {
    const [first = 0, last = first] = range.split('-').map(Number);
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
}

/** @returns cores: fewer than the machine has, and perhaps a fraction, where a quota, a cpuset or an affinity says so */
export function usableCores(root = '/'): number {
  return Math.min(allowedCpus(root).length, lowestQuota(readCgroup(root)) ?? Number.POSITIVE_INFINITY);
}

/** @returns the lowest CPU quota, in cores; undefined without any */
export function lowestQuota({ cpu }: Pick<Cgroup, 'cpu'>): number | undefined {
  return cpu.length === 0 ? undefined : Math.min(...cpu.map(({ cores }) => cores));
}

/** @returns the lowest of several limits; undefined without any, or if the machine has no more than that */
export function lowestLimit<L extends { max: number }>(limits: L[], ofMachine: number): L | undefined {
  const [lowest] = [...limits].sort((a, b) => a.max - b.max);
  return lowest !== undefined && lowest.max < ofMachine ? lowest : undefined;
}

/** @returns bytes that can still be taken, without swapping; and whose limit that is */
export function availableMemory(
  { memory }: Pick<Cgroup, 'memory'>,
  ofMachineBytes = freemem(),
): { bytes: number; limitedBy: 'machine' | 'container' } {
  const left = memory.flatMap(({ max, used }) => (used === undefined ? [] : max - used));
  const bytes = Math.max(0, Math.min(...left));
  return bytes < ofMachineBytes ? { bytes, limitedBy: 'container' } : { bytes: ofMachineBytes, limitedBy: 'machine' };
}
