import { renameSync, rmSync } from 'node:fs';

/**
 * Whoever reads meanwhile, or after this process was killed, sees the old file or the new one, never half of it.
 * @param create makes the new one at the path it gets; what it leaves there when it fails is removed
 */
export function replace(path: string, create: (temporary: string) => void): void {
  const temporary = `${path}.${process.pid}`;
  try {
    create(temporary);
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}
