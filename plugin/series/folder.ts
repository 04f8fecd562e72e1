/**
 * The folder of a series of runs: `runs/`, `logs/`, and the documents about all runs. Only one process may use it at a
 * time.
 */
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { z } from 'zod';
import { makeFolder } from '../../protocol/base/make-folder.ts';
import { readUntrustedJson } from '../../protocol/base/readable-size.ts';
import { tryOrUndefined } from '../../protocol/base/try-or-undefined.ts';
import { unwritableError } from '../../protocol/base/unwritable.ts';
import { CapacityError } from '../../protocol/codes/errors.ts';
import { isRefAlive, type ProcessRef, processRef } from '../../server/stack/state/stack-processes.ts';
import { createNumberedFolder, replaceFileAtomically } from '../run/folder/run-files.ts';
import { createRunId } from '../run/measurements/run-id.ts';

const LOCK = 'lock.json';
export const OTHER_FOLDER = 'choose a folder that you can write to: --results <folder>';

/**
 * Moves a complete series to a new folder next to this folder. This folder is empty afterwards, and stays locked.
 * @returns the path of the new folder
 * @throws CapacityError FILE_UNWRITABLE
 */
export function moveSeriesAside(folder: string, startedAt: string): string {
  const name = createRunId(new Date(startedAt), basename(folder));
  try {
    const path = createNumberedFolder(dirname(folder), name);
    for (const entry of readdirSync(folder)) {
      if (entry !== LOCK) renameSync(join(folder, entry), join(path, entry));
    }
    makeInnerFolders(folder);
    return path;
  } catch (cause) {
    throw unwritableError(join(dirname(folder), name), cause, OTHER_FOLDER);
  }
}

/**
 * Creates the folder if it does not exist, and locks it, because two processes would mix up their runs.
 * @returns a function that unlocks the folder
 * @throws CapacityError FILE_UNWRITABLE, IN_USE
 */
export function lockSeriesFolder(folder: string): () => void {
  const path = join(folder, LOCK);
  try {
    makeInnerFolders(folder);
    // Tries again if the lock file belongs to an ended process, after removing it.
    while (!lock(path)) {
      // The lock file may be incomplete, or may have been removed meanwhile.
      const owner: ProcessRef | undefined = tryOrUndefined(() => JSON.parse(readFileSync(path, 'utf8')));
      if (owner && isRefAlive(owner)) {
        const fix = 'wait until it ends, or choose another folder: --results <folder>';
        throw new CapacityError('IN_USE', `process ${owner.pid} is running a series in ${folder}`, fix);
      }
      rmSync(path, { force: true });
    }
  } catch (cause) {
    throw cause instanceof CapacityError ? cause : unwritableError(path, cause, OTHER_FOLDER);
  }
  // A lock that cannot be removed does no harm, because the next process removes the lock of an ended process.
  return () => void tryOrUndefined(() => rmSync(path, { force: true }));
}

/**
 * Reads a document of the series from the folder; undefined if there is none.
 * @throws CapacityError FILE_UNREADABLE
 */
export function readSeriesDocument<T>(folder: string, name: string, schema: z.ZodType<T>): T | undefined {
  const path = join(folder, name);
  if (!existsSync(path)) return undefined;
  try {
    return schema.parse(readUntrustedJson(path));
  } catch (cause) {
    const fix = 'restore the file, or start again in another folder: --results <folder>';
    throw new CapacityError('FILE_UNREADABLE', `${path} is damaged, or has another version`, fix, { cause });
  }
}

/**
 * Writes files, and replaces each file atomically.
 * @param texts contents by file name
 * @throws CapacityError FILE_UNWRITABLE
 */
export function writeSeriesFiles(folder: string, texts: Record<string, string>): void {
  for (const [name, text] of Object.entries(texts)) {
    const path = join(folder, name);
    withWriteErrors(path, () => replaceFileAtomically(path, (temporary) => writeFileSync(temporary, text)));
  }
}

/**
 * Runs `work`. Converts its errors to an error about the file `path`.
 * @throws CapacityError FILE_UNWRITABLE
 */
export function withWriteErrors(path: string, work: () => void): void {
  try {
    work();
  } catch (cause) {
    throw unwritableError(path, cause, OTHER_FOLDER);
  }
}

function makeInnerFolders(folder: string): void {
  for (const inner of ['runs', 'logs']) makeFolder(join(folder, inner));
}

/** Creates the lock file. Returns false if another lock exists. */
function lock(path: string): boolean {
  try {
    writeFileSync(path, JSON.stringify(processRef(process.pid)), { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}
