/**
 * Linux control groups of version 2: what a container or a service may use. Limits of the groups above a process's own
 * count as well, as far as its namespace shows them.
 */
import { existsSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { Cgroup, CpuQuota } from '../control-replies.ts';
import { attempt } from '../helpers/attempt.ts';

/** A group, and the folder with its files. */
interface Level {
  folder: string;
  group: string;
}

/** @param root of the file system, for tests @returns what limits this process; without Linux, nothing */
export function readCgroup(root = '/'): Cgroup {
  const levels = levelsIn(root);
  return {
    cpu: levels.flatMap(cpuQuota),
    memory: levels.flatMap(memoryLimit),
    tasks: levels.flatMap(taskLimit),
  };
}

function cpuQuota({ folder, group }: Level): CpuQuota[] {
  // "max" stands for no quota.
  const [quota, period] = (read(folder, 'cpu.max') ?? '').split(' ').map(Number);
  if (!quota || !period) return [];
  const stat = read(folder, 'cpu.stat') ?? '';
  const [periods, throttledPeriods] = [field(stat, 'nr_periods'), field(stat, 'nr_throttled')];
  const throttledUs = field(stat, 'throttled_usec');
  const isKnown = periods !== undefined && throttledPeriods !== undefined && throttledUs !== undefined;
  return [{ cores: quota / period, ...(isKnown && { periods, throttledPeriods, throttledUs }), group }];
}

function memoryLimit({ folder, group }: Level): Cgroup['memory'] {
  const max = number(folder, 'memory.max');
  const bytes = number(folder, 'memory.current');
  const droppable = field(read(folder, 'memory.stat') ?? '', 'inactive_file');
  if (max === undefined) return [];
  const isKnown = bytes !== undefined && droppable !== undefined;
  return [{ max, ...(isKnown && { used: Math.max(0, bytes - droppable) }), group }];
}

function taskLimit({ folder, group }: Level): Cgroup['tasks'] {
  const [max, used] = [number(folder, 'pids.max'), number(folder, 'pids.current')];
  return max === undefined || used === undefined ? [] : [{ max, used, group }];
}

/** Returns the groups of this process, from its own to the topmost visible one. */
function levelsIn(root: string): Level[] {
  const own = lines(root, 'proc/self/cgroup')
    .find((line) => line.startsWith('0::'))
    ?.slice('0::'.length);
  // Paths of two containers can be the same, each in its own namespace.
  const namespace = attempt(() => readlinkSync(join(root, 'proc/self/ns/cgroup'))) ?? '';
  for (const { shows, at } of lines(root, 'proc/self/mountinfo').flatMap(toMount)) {
    const inside = own && within(shows, own);
    if (inside === undefined || !existsSync(join(root, at, inside))) continue;
    return ancestors(inside).map((path) => ({
      folder: join(root, at, path),
      group: `${namespace}${path === '/' ? shows : join(shows, path)}`,
    }));
  }
  return [];
}

/** `30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw`: what of the hierarchy is shown where. */
function toMount(line: string) {
  const [before = '', after = ''] = line.split(' - ');
  const [, , , shows = '/', at = '/'] = before.split(' ').map(unescaped);
  return after.startsWith('cgroup2 ') ? [{ shows, at }] : [];
}

/** The path below what a mount shows: a container without a namespace of its own sees its group as the top, by its full name. */
function within(shows: string, path: string): string {
  if (shows === '/') return path;
  return path.startsWith(`${shows}/`) ? path.slice(shows.length) : '/';
}

function ancestors(path: string): string[] {
  const parts = path.split('/').filter(Boolean);
  return [...parts, ''].map((_, index) => `/${parts.slice(0, parts.length - index).join('/')}`);
}

/** Spaces and the like are octal in mountinfo. */
function unescaped(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, code) => String.fromCharCode(Number.parseInt(code, 8)));
}

/** Reads `memory.stat` and the like: a name and a number per line. */
function field(text: string, name: string): number | undefined {
  const found = new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1];
  return found === undefined ? undefined : Number(found);
}

/** @returns undefined for `max` and for anything else that is no number */
function number(folder: string, file: string): number | undefined {
  const text = read(folder, file);
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
}

function lines(root: string, file: string): string[] {
  return (read(root, file) ?? '').split('\n').filter(Boolean);
}

function read(folder: string, file: string): string | undefined {
  return attempt(() => readFileSync(join(folder, file), 'utf8').trim());
}
