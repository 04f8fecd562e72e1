/** Explains errors when a file cannot be written, with a fix for each error code of the system. */
import { rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { ErrorCode } from '../codes/error-codes.ts';
import { CapacityError } from '../codes/errors.ts';

const FIXES: Record<string, (folder: string) => string> = {
  ENOSPC: (folder) => `make room on its disk (df -h ${folder}; df -i shows whether it lacks inodes)`,
  EDQUOT: () => 'delete files of this user, whose disk quota is used up (quota -s)',
  EROFS: (folder) => `mount its file system for writing (findmnt -T ${folder})`,
  EACCES: (folder) => `let this user write there (ls -ld ${folder})`,
  EPERM: (folder) => `let this user write there (ls -ld ${folder}; lsattr -d ${folder})`,
  EMFILE: () => 'raise the limit of open files (ulimit -n)',
  ENFILE: () => 'end programs that have many files open, or raise the limit of the system (sysctl fs.file-max)',
  EFBIG: () => 'raise the limit of file sizes (ulimit -f)',
  EIO: () => 'look for errors of the disk (dmesg)',
  ENOENT: () => 'leave the folder alone while it is written to',
  ENOTDIR: () => 'move away the file that is in the place of a folder',
  EISDIR: () => 'move away the folder that is in the place of the file',
};

/**
 * @param elsewhere instruction how to choose another folder
 * @param what the failed action, with the path
 */
export function unwritableError(
  path: string,
  cause: unknown,
  elsewhere: string,
  what = `cannot write ${path}`,
  code: ErrorCode = 'FILE_UNWRITABLE',
): CapacityError {
  const fix = FIXES[(cause as NodeJS.ErrnoException | undefined)?.code ?? '']?.(dirname(path));
  return new CapacityError(code, what, fix === undefined ? elsewhere : `${fix}; or ${elsewhere}`, { cause });
}

/** Returns whether the error occurred while a file was written. */
export function isWriteError(error: unknown): boolean {
  const { code = '', syscall = '' } = (error ?? {}) as NodeJS.ErrnoException;
  return code in FIXES && /^(open|write|mkdir|mkdtemp|link|symlink|rename|unlink|ftruncate|copyfile)$/.test(syscall);
}

/**
 * Checks that a folder has enough free space: writes a file of this size and removes it. The free space that the system
 * reports ignores quotas and permissions.
 * @throws the system's error
 */
export function requireDiskSpace(folder: string, sizeBytes: number): void {
  const path = join(folder, `.room.${process.pid}`);
  try {
    // The file contains ones, because some file systems store zeros without using space.
    writeFileSync(path, Buffer.alloc(sizeBytes, 1));
  } finally {
    rmSync(path, { force: true });
  }
}
