/** Disks of a few megabytes, for tests that run as root on Linux. */
import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tryOrUndefined } from '../../protocol/base/try-or-undefined.ts';
import type { Cleaner } from './raw-listen.ts';

/** Reason why this machine cannot mount disks; false if it can. */
export const NO_MOUNTS = mountable() ? false : 'mounts need root on Linux';

export interface SmallDisk {
  folder: string;
  /** Fills the disk completely. */
  fill(): void;
  makeReadOnly(): void;
}

export function mountSmallDisk(t: Cleaner, size = '8m'): SmallDisk {
  const folder = mkdtempSync(join(tmpdir(), 'disk-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', folder]);
  t.after(() => {
    execFileSync('umount', ['-l', folder]);
    rmdirSync(folder);
  });
  const ballast = join(folder, 'ballast');
  return {
    folder,
    fill: () => {
      const hasRoom = () => tryOrUndefined(() => appendFileSync(ballast, Buffer.alloc(4096, 1)) === undefined) ?? false;
      while (hasRoom());
    },
    makeReadOnly: () => void execFileSync('mount', ['-o', 'remount,ro', folder]),
  };
}

function mountable(): boolean {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false;
  return tryOrUndefined(() => execFileSync('unshare', ['-m', 'true'])) !== undefined;
}
