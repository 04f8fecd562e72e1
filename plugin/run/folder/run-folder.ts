/**
 * The folder of a run. The result file is written again at every stage of the run, so that a killed run keeps its
 * measurements.
 */
import { lstatSync, rmdirSync, rmSync, symlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import { formatProblems, problemsOfZodError } from '../../../protocol/base/problems.ts';
import { tryOrUndefined } from '../../../protocol/base/try-or-undefined.ts';
import { requireDiskSpace, unwritableError } from '../../../protocol/base/unwritable.ts';
import { CapacityError } from '../../../protocol/codes/errors.ts';
import { type Result, resultSchema } from '../../../protocol/result/result.ts';
import { createNumberedFolder, OTHER_RESULTS, RunFiles, replaceFileAtomically } from './run-files.ts';

/** Minimum free disk space, in bytes. The files of a run with 32,000 connections take 2 MB. */
const ROOM_BYTES = 4 * 2 ** 20;

export class RunFolder {
  readonly files: RunFiles;
  readonly #results: string;
  readonly #latest: string;

  /**
   * Creates the folder.
   * @param name name of the folder; if it exists, a number is added
   * @throws CapacityError FILE_UNWRITABLE if the folder cannot be created or the disk is too full; the folder is
   * removed in that case
   */
  constructor(results: string, name: string) {
    this.#results = results;
    this.#latest = join(results, 'latest');
    let directory: string | undefined;
    try {
      requireLink(this.#latest);
      directory = createNumberedFolder(results, name);
      requireDiskSpace(directory, ROOM_BYTES);
      this.files = new RunFiles(directory);
    } catch (cause) {
      if (directory !== undefined) remove(directory, results);
      if (cause instanceof CapacityError) throw cause;
      const path = join(results, name);
      throw unwritableError(path, cause, OTHER_RESULTS, directory === undefined ? `cannot create ${path}` : undefined);
    }
  }

  get directory(): string {
    return this.files.directory;
  }

  get id(): string {
    return basename(this.directory);
  }

  /**
   * Validates and writes `result.json`, and points the link `latest` to this run. Can be called repeatedly.
   * @returns path of the file; undefined if it could not be written
   * @throws CapacityError UNEXPECTED if the result is invalid; the invalid result is kept as `result.unsound.json`
   */
  write(result: Result): string | undefined {
    const checked = resultSchema.safeParse(result);
    if (!checked.success) {
      const kept = this.files.replace('result.unsound.json', textOf(result));
      throw new CapacityError(
        'UNEXPECTED',
        `the result contains impossible figures, which is a bug\n${formatProblems(problemsOfZodError(checked.error, []))}`,
        kept === undefined ? 'please report it' : `please report it with ${kept}, which has what was measured`,
      );
    }
    const path = this.files.replace('result.json', textOf(checked.data));
    if (path === undefined) return undefined;
    this.files.write(this.#latest, () =>
      replaceFileAtomically(this.#latest, (temporary) => symlinkSync(this.id, temporary)),
    );
    return path;
  }

  /** Removes the folder of a run that failed before it measured anything. */
  discard(): void {
    remove(this.directory, this.#results);
  }
}

function textOf(content: object): string {
  return `${JSON.stringify(content, null, 1)}\n`;
}

function remove(directory: string, results: string): void {
  tryOrUndefined(() => rmSync(directory, { recursive: true, force: true }));
  // Removes the results folder only if it is empty: `rmdir` fails on a folder with results of other runs.
  tryOrUndefined(() => rmdirSync(results));
}

/** Checks that `latest` is a link or does not exist, because the run replaces it. */
function requireLink(latest: string): void {
  if (lstatSync(latest, { throwIfNoEntry: false })?.isSymbolicLink() ?? true) return;
  throw new CapacityError(
    'FILE_UNWRITABLE',
    `${latest} is a file or a folder, where a run keeps the link to its results`,
    `move it away, or ${OTHER_RESULTS}`,
  );
}
