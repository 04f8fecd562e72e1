/** The folder of a series: `runs/`, `logs/`, and the documents about all runs, which one process at a time works on. */
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { z } from 'zod';
import { attempt } from '../../protocol/base/attempt.ts';
import { makeFolder } from '../../protocol/base/make-folder.ts';
import { readJson } from '../../protocol/base/readable-size.ts';
import { unwritable } from '../../protocol/base/unwritable.ts';
import { CapacityError } from '../../protocol/codes/errors.ts';
import { isAlive, type ProcessRef, processRef } from '../../server/stack/state/stack-processes.ts';
import { newFolder } from '../run/folder/new-folder.ts';
import { replace } from '../run/folder/replace.ts';
import { runId } from '../run/measurements/run-id.ts';

const LOCK = 'lock.json';
export const OTHER_FOLDER = 'choose a folder that you can write to: --results <folder>';

/**
 * Moves a complete series into a folder of its own beside this one, which is then as new, and stays locked.
 * @returns the path of the new folder
 * @throws CapacityError FILE_UNWRITABLE
 */
export function setAside(folder: string, startedAt: string): string {
  const name = runId(new Date(startedAt), basename(folder));
  try {
    const path = newFolder(dirname(folder), name);
    for (const entry of readdirSync(folder)) {
      if (entry !== LOCK) renameSync(join(folder, entry), join(path, entry));
    }
    makeInnerFolders(folder);
    return path;
  } catch (cause) {
    throw unwritable(join(dirname(folder), name), cause, OTHER_FOLDER);
  }
}

/**
 * Makes the folder where there is none, and locks it: two processes would take each other's runs for their own.
 * @returns a function that gives it free
 * @throws CapacityError FILE_UNWRITABLE, IN_USE
 */
export function openFolder(folder: string): () => void {
  const path = join(folder, LOCK);
  try {
    makeInnerFolders(folder);
    // At most one retry for each process that has left its lock behind.
    while (!lock(path)) {
      // It can be written in part, or gone by now.
      const owner: ProcessRef | undefined = attempt(() => JSON.parse(readFileSync(path, 'utf8')));
      if (owner && isAlive(owner)) {
        const fix = 'wait until it ends, or choose another folder: --results <folder>';
        throw new CapacityError('IN_USE', `process ${owner.pid} is making runs in ${folder}`, fix);
      }
      rmSync(path, { force: true });
    }
  } catch (cause) {
    throw cause instanceof CapacityError ? cause : unwritable(path, cause, OTHER_FOLDER);
  }
  // On a disk that has become read-only, the next process sees that this one has ended.
  return () => void attempt(() => rmSync(path, { force: true }));
}

/**
 * @returns the document in the folder, if there is one
 * @throws CapacityError FILE_UNREADABLE
 */
export function readDocument<T>(folder: string, name: string, schema: z.ZodType<T>): T | undefined {
  const path = join(folder, name);
  if (!existsSync(path)) return undefined;
  try {
    return schema.parse(readJson(path));
  } catch (cause) {
    const fix = 'restore the file, or start anew in another folder: --results <folder>';
    throw new CapacityError('FILE_UNREADABLE', `${path} is damaged, or of another version`, fix, { cause });
  }
}

/**
 * @param texts by file name; each is replaced as a whole
 * @throws CapacityError FILE_UNWRITABLE
 */
export function writeDocuments(folder: string, texts: Record<string, string>): void {
  for (const [name, text] of Object.entries(texts)) {
    const path = join(folder, name);
    writing(path, () => replace(path, (temporary) => writeFileSync(temporary, text)));
  }
}

/** @throws CapacityError FILE_UNWRITABLE where `work` throws */
export function writing(path: string, work: () => void): void {
  try {
    work();
  } catch (cause) {
    throw unwritable(path, cause, OTHER_FOLDER);
  }
}

function makeInnerFolders(folder: string): void {
  for (const inner of ['runs', 'logs']) makeFolder(join(folder, inner));
}

/** @returns false if there is a lock */
function lock(path: string): boolean {
  try {
    writeFileSync(path, JSON.stringify(processRef(process.pid)), { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}
