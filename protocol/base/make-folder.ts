import { mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/**
 * Makes a folder, and those that it is in. Node's own `recursive` never ends where the system says that an existing parent does
 * not exist, as below /proc (24.21).
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
    // Another process may have made it meanwhile.
    if (!statSync(absolute, { throwIfNoEntry: false })?.isDirectory()) throw error;
  }
}
