import { renameSync, rmSync } from 'node:fs';

/**
 * Replaces a file atomically: readers see the old file or the new one, even if this process is killed.
 * @param create creates the new file at a temporary path, which is removed if it fails
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
