import { mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/**
 * Creates a folder and its parents. Node's `recursive` option loops forever if the system reports an existing parent as
 * missing, such as below /proc (Node 24.21).
 * @throws the system's error
 */
export function makeFolder(path: string, mode?: number): void {
  const absolute = resolve(path);
  const found = statSync(absolute, { throwIfNoEntry: false });
  if (found?.isDirectory()) return;
  if (!found) makeFolder(dirname(absolute), mode);
  try {
    mkdirSync(absolute, { mode });
  } catch (error) {
    // Another process may have created the folder in the meantime.
    if (!statSync(absolute, { throwIfNoEntry: false })?.isDirectory()) throw error;
  }
}
