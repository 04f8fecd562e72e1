/** Folders and files of a run. */
import { appendFileSync, mkdirSync, renameSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { attempt } from '../../../protocol/base/attempt.ts';
import { makeFolder } from '../../../protocol/base/make-folder.ts';
import { unwritable } from '../../../protocol/base/unwritable.ts';
import type { CapacityError } from '../../../protocol/codes/errors.ts';

export const OTHER_RESULTS = 'set config.plugins.socketio-capacity.results to a folder that you may write to';

/**
 * Writes the files of a run. As a run writes in callbacks and timers, where an error would be uncaught, nothing here throws. The
 * first failure is reported once to the owner of the run, which ends it.
 */
export class RunFiles {
  readonly directory: string;
  onFailed: (error: CapacityError) => void = () => {};
  #failure: CapacityError | undefined;
  /** Sizes of the files that were appended to, by name. */
  readonly #sizesBytes = new Map<string, number>();

  /** @param directory need not exist yet */
  constructor(directory: string) {
    this.directory = directory;
  }

  /** FILE_UNWRITABLE for the first file that could not be written. */
  get failure(): CapacityError | undefined {
    return this.#failure;
  }

  /** Returns false if it failed; a partly written text is removed. */
  append(name: string, text: string): boolean {
    const path = join(this.directory, name);
    const sizeBytes = this.#sizesBytes.get(name) ?? attempt(() => statSync(path).size) ?? 0;
    const isWritten = this.write(path, () => appendFileSync(path, text));
    // The folder may have been deleted.
    if (!isWritten) attempt(() => truncateSync(path, sizeBytes));
    this.#sizesBytes.set(name, isWritten ? sizeBytes + Buffer.byteLength(text) : sizeBytes);
    return isWritten;
  }

  /** Replaces the file atomically. @returns its path; undefined if that failed */
  replace(name: string, text: string): string | undefined {
    const path = join(this.directory, name);
    const isWritten = this.write(path, () => replace(path, (temporary) => writeFileSync(temporary, text)));
    return isWritten ? path : undefined;
  }

  /** Returns false if it threw. */
  write(path: string, work: () => void): boolean {
    try {
      work();
      return true;
    } catch (cause) {
      if (!this.#failure) {
        this.#failure = unwritable(path, cause, OTHER_RESULTS);
        this.onFailed(this.#failure);
      }
      return false;
    }
  }
}

/** Creates a new folder: `name`, or `name-2`, `name-3`, … if that exists. @returns its path */
export function newFolder(parent: string, name: string): string {
  makeFolder(parent);
  for (let count = 1; ; count++) {
    const path = join(parent, count === 1 ? name : `${name}-${count}`);
    try {
      mkdirSync(path);
      return path;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}

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
