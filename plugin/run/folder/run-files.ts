/** Writes the files and folders of a run. */
import { appendFileSync, mkdirSync, renameSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from '../../../protocol/base/make-folder.ts';
import { tryOrUndefined } from '../../../protocol/base/try-or-undefined.ts';
import { unwritableError } from '../../../protocol/base/unwritable.ts';
import type { CapacityError } from '../../../protocol/codes/errors.ts';

export const OTHER_RESULTS = 'set config.plugins.socketio-capacity.results to a folder that you may write to';

/**
 * Writes the files of a run. No method throws, because callbacks and timers of the run call them, and an error would be
 * uncaught there. The first failure is reported, and ends the run.
 */
export class RunFiles {
  readonly directory: string;
  onFailed: (error: CapacityError) => void = () => {};
  #failure: CapacityError | undefined;
  /** Size of each file to which the run appends, in bytes, by the name of the file. */
  readonly #sizesBytes = new Map<string, number>();

  /** @param directory folder of the files, which is created if it does not exist */
  constructor(directory: string) {
    this.directory = directory;
  }

  /** Error FILE_UNWRITABLE for the first file that could not be written. */
  get failure(): CapacityError | undefined {
    return this.#failure;
  }

  /**
   * Appends to a file.
   * @returns false if that failed; text that was written only in part is removed
   */
  append(name: string, text: string): boolean {
    const path = join(this.directory, name);
    const sizeBytes = this.#sizesBytes.get(name) ?? tryOrUndefined(() => statSync(path).size) ?? 0;
    const isWritten = this.write(path, () => appendFileSync(path, text));
    // The truncation also fails if the user has deleted the folder. That error is ignored.
    if (!isWritten) tryOrUndefined(() => truncateSync(path, sizeBytes));
    this.#sizesBytes.set(name, isWritten ? sizeBytes + Buffer.byteLength(text) : sizeBytes);
    return isWritten;
  }

  /** Replaces the file atomically. @returns its path; undefined if that failed */
  replace(name: string, text: string): string | undefined {
    const path = join(this.directory, name);
    const isWritten = this.write(path, () =>
      replaceFileAtomically(path, (temporary) => writeFileSync(temporary, text)),
    );
    return isWritten ? path : undefined;
  }

  /**
   * Runs a write operation.
   * @returns false if the operation threw an error
   */
  write(path: string, work: () => void): boolean {
    try {
      work();
      return true;
    } catch (cause) {
      if (!this.#failure) {
        this.#failure = unwritableError(path, cause, OTHER_RESULTS);
        this.onFailed(this.#failure);
      }
      return false;
    }
  }
}

/** Creates a new folder: `name`, or `name-2`, `name-3`, … if that exists. @returns its path */
export function createNumberedFolder(parent: string, name: string): string {
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
export function replaceFileAtomically(path: string, create: (temporary: string) => void): void {
  const temporary = `${path}.${process.pid}`;
  try {
    create(temporary);
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}
