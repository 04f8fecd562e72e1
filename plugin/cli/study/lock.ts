/** One process at a time works on a study: two would take each other's runs for their own. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CapacityError } from '../../../protocol/errors.ts';
import { isAlive, type ProcessRef, processRef } from '../../../server/stack/state/processes.ts';

const LOCK = 'study.lock';

/**
 * @returns a function that gives the folder free
 * @throws CapacityError STUDY_RUNNING
 */
export function lockStudy(folder: string): () => void {
  const path = join(folder, LOCK);
  const text = JSON.stringify(processRef(process.pid));
  // At most one retry for each process that has left its lock behind.
  while (!create(path, text)) {
    const owner = read(path);
    if (owner && isAlive(owner)) {
      throw new CapacityError(
        'STUDY_RUNNING',
        `process ${owner.pid} is working on the study in ${folder}`,
        'wait until it ends, or give this one a folder of its own: --results <folder>',
      );
    }
    rmSync(path, { force: true });
  }
  return () => rmSync(path, { force: true });
}

/** @returns false if there is one */
function create(path: string, text: string): boolean {
  try {
    writeFileSync(path, text, { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** @returns undefined if it was not written completely, or is gone by now */
function read(path: string): ProcessRef | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
}
