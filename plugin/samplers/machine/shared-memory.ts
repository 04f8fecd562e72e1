/** Reads the shared memory of this machine: files on each tmpfs, and System V segments. Linux only. */
import { readFileSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { printableLine } from '../../../protocol/base/printable.ts';
import { tryOrUndefined } from '../../../protocol/base/try-or-undefined.ts';

interface SharedMemory {
  /** Text about where the memory is, which can follow the size as in "64 KB in …". */
  place: string;
  bytes: number;
}

const MAX_MOUNTS = 30;
const MAX_LENGTH = 100;

/** Reads all shared memory of the machine. Never rejects. */
export async function readSharedMemory(): Promise<SharedMemory[]> {
  const points = tmpfsMounts(textOf('/proc/self/mountinfo')).slice(0, MAX_MOUNTS);
  const mounts = points.map(async (path): Promise<SharedMemory[]> => {
    const { blocks, bfree, bsize } = await statfs(path);
    return [{ place: `files of ${printableLine(path, MAX_LENGTH)}`, bytes: (blocks - bfree) * bsize }];
  });
  const found = await Promise.all(mounts.map((mount) => mount.catch(() => [])));
  return [...found.flat(), { place: 'System V shared memory', bytes: systemVBytes(textOf('/proc/sysvipc/shm')) }];
}

/** Returns a mount point for each tmpfs of the machine. */
export function tmpfsMounts(mountinfo: string): string[] {
  const byDevice = new Map<string, string>();
  for (const row of mountinfo.split('\n')) {
    // Fields of a mountinfo line by proc_pid_mountinfo(5): two ids, device, root, mount point; after a dash, the type.
    const [mount = '', type = ''] = row.split(' - ');
    const [, , device, , point] = mount.split(' ');
    if (type.startsWith('tmpfs ') && device && point && !byDevice.has(device)) byDevice.set(device, point);
  }
  const paths = [...byDevice.values()].map((point) =>
    point.replace(/\\(\d{3})/g, (_, code) => String.fromCharCode(Number.parseInt(code, 8))),
  );
  return [...new Set(paths)];
}

/**
 * Returns the resident bytes of all System V segments. The last two columns of the kernel's list are `rss` and `swap`.
 */
export function systemVBytes(text: string): number {
  const rows = text.trim().split('\n').slice(1);
  return rows.reduce((sum, row) => sum + (Number(row.trim().split(/\s+/).at(-2)) || 0), 0);
}

function textOf(path: string): string {
  return tryOrUndefined(() => readFileSync(path, 'utf8')) ?? '';
}
