/**
 * Limits of Linux control groups, version 1 and 2, which containers and services have. Includes the limits of parent
 * groups if they are visible.
 */
import { existsSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { Cgroup, CpuQuota } from '../../wire/control-replies.ts';
import { tryOrUndefined } from '../try-or-undefined.ts';

type Controller = 'cpu' | 'memory' | 'pids';

/** A control group of the hierarchy: the folder that has a controller's files. */
interface Level {
  version: 1 | 2;
  folder: string;
  group: string;
}

/**
 * Values from this number on mean "no limit" in version 1 of control groups, which writes the largest number of pages.
 */
const NO_LIMIT = 2 ** 60;

/**
 * Returns the limits of this process. Empty on other systems than Linux.
 * @param root root of the file system, for tests
 */
export function readCgroup(root = '/'): Cgroup {
  const levelsOf = levelsIn(root);
  return {
    cpu: levelsOf('cpu').flatMap(cpuQuota),
    memory: levelsOf('memory').flatMap(memoryLimit),
    tasks: levelsOf('pids').flatMap(taskLimit),
  };
}

function cpuQuota({ version, folder, group }: Level): CpuQuota[] {
  const [quota, period] =
    version === 2
      ? (read(folder, 'cpu.max') ?? '').split(' ').map(Number)
      : [number(folder, 'cpu.cfs_quota_us'), number(folder, 'cpu.cfs_period_us')];
  // Version 2 of control groups writes "max" if there is no quota, and version 1 writes -1.
  if (!quota || !period || quota < 0) return [];
  const stat = read(folder, 'cpu.stat') ?? '';
  const [periods, throttledPeriods] = [field(stat, 'nr_periods'), field(stat, 'nr_throttled')];
  const nanoseconds = field(stat, 'throttled_time');
  const throttledUs = field(stat, 'throttled_usec') ?? (nanoseconds === undefined ? undefined : nanoseconds / 1000);
  const isKnown = periods !== undefined && throttledPeriods !== undefined && throttledUs !== undefined;
  return [{ cores: quota / period, ...(isKnown && { periods, throttledPeriods, throttledUs }), group }];
}

type Limit = [max: number | undefined, used: number | undefined];

function memoryLimit(level: Level): Cgroup['memory'] {
  const [max, used] = memoryFiles(level);
  return max === undefined || max >= NO_LIMIT ? [] : [{ max, ...(used !== undefined && { used }), group: level.group }];
}

function taskLimit(level: Level): Cgroup['tasks'] {
  const [max, used] = taskFiles(level);
  return max === undefined || used === undefined || max >= NO_LIMIT ? [] : [{ max, used, group: level.group }];
}

function memoryFiles({ version, folder }: Level): Limit {
  const [max, used, cache] =
    version === 2
      ? ['memory.max', 'memory.current', 'inactive_file']
      : ['memory.limit_in_bytes', 'memory.usage_in_bytes', 'total_inactive_file'];
  const bytes = number(folder, used);
  const droppable = field(read(folder, 'memory.stat') ?? '', cache);
  const isKnown = bytes !== undefined && droppable !== undefined;
  return [number(folder, max), isKnown ? Math.max(0, bytes - droppable) : undefined];
}

function taskFiles({ folder }: Level): Limit {
  return [number(folder, 'pids.max'), number(folder, 'pids.current')];
}

/**
 * Returns a function that lists the control groups of this process for a controller, from its own group up to the
 * topmost visible group.
 */
function levelsIn(root: string): (controller: Controller) => Level[] {
  const memberships = lines(root, 'proc/self/cgroup').map((line) => {
    const [, controllers = '', path = '/'] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    return { controllers: controllers.split(','), path };
  });
  const mounts = lines(root, 'proc/self/mountinfo').flatMap(toMount);
  // The key includes the namespace, because containers in different namespaces can have the same path.
  const namespace = tryOrUndefined(() => readlinkSync(join(root, 'proc/self/ns/cgroup'))) ?? '';
  return (controller) => {
    const first = memberships.find(({ controllers }) => controllers.includes(controller));
    const version = first ? 1 : 2;
    const own = first ?? memberships.find(({ controllers }) => controllers[0] === '');
    const candidates = mounts.filter((mount) => mount.version === version && (!first || mount.has(controller)));
    for (const mount of candidates) {
      const inside = own && within(mount.shows, own.path);
      if (inside === undefined || !existsSync(join(root, mount.at, inside))) continue;
      return ancestors(inside).map((path) => ({
        version,
        folder: join(root, mount.at, path),
        group: `${namespace}${path === '/' ? mount.shows : join(mount.shows, path)}`,
      }));
    }
    return [];
  };
}

/**
 * Parses a line of mountinfo: the mounted part of the hierarchy of control groups, and the folder where it is mounted.
 * Example: `36 31 0:33 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory`.
 */
function toMount(line: string) {
  const [before = '', after = ''] = line.split(' - ');
  const [, , , shows = '/', at = '/'] = before.split(' ').map(unescaped);
  const [type, , options = ''] = after.split(' ');
  if (type !== 'cgroup' && type !== 'cgroup2') return [];
  const has = (controller: string) => options.split(',').includes(controller);
  return [{ version: type === 'cgroup2' ? 2 : 1, shows, at, has }];
}

/**
 * Returns the path of a control group relative to the mounted part of the hierarchy. In a container without its own
 * namespace, the group is mounted at the top, but its path is the full path.
 */
function within(shows: string, path: string): string {
  if (shows === '/') return path;
  return path.startsWith(`${shows}/`) ? path.slice(shows.length) : '/';
}

function ancestors(path: string): string[] {
  const parts = path.split('/').filter(Boolean);
  return [...parts, ''].map((_, index) => `/${parts.slice(0, parts.length - index).join('/')}`);
}

/** Decodes octal escapes in mountinfo, such as `\040` for a space. */
function unescaped(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, code) => String.fromCharCode(Number.parseInt(code, 8)));
}

/** Reads a field of `memory.stat` and similar files, with a name and a number per line. */
function field(text: string, name: string): number | undefined {
  const found = new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1];
  return found === undefined ? undefined : Number(found);
}

/** Reads a number from a file. Returns undefined for `max` and other texts. */
function number(folder: string, file: string): number | undefined {
  const text = read(folder, file);
  return text !== undefined && /^-?\d+$/.test(text) ? Number(text) : undefined;
}

function lines(root: string, file: string): string[] {
  return (read(root, file) ?? '').split('\n').filter(Boolean);
}

function read(folder: string, file: string): string | undefined {
  return tryOrUndefined(() => readFileSync(join(folder, file), 'utf8').trim());
}
