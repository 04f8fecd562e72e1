/** The run record: one JSON line per fact, written as it happens, so that a killed run leaves what it had measured. */
import { appendFileSync, lstatSync, rmdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { CapacityError } from '../../../protocol/errors.ts';
import { attempt } from '../../../protocol/helpers/attempt.ts';
import { formatProblems, problemsOf } from '../../../protocol/problems.ts';
import { type Result, resultSchema } from '../../../protocol/result/result.ts';
import { newFolder } from './new-folder.ts';
import { replace } from './replace.ts';

export class RunRecord {
  readonly directory: string;
  readonly #results: string;
  readonly #latest: string;
  #recordBytes = 0;

  /**
   * @param name of the run's folder; a number is added where another run of the same second has it
   * @throws CapacityError FILE_UNWRITABLE
   */
  constructor(results: string, name: string) {
    this.#results = results;
    this.#latest = join(results, 'latest');
    try {
      requireLink(this.#latest);
      this.directory = newFolder(results, name);
    } catch (cause) {
      if (cause instanceof CapacityError) throw cause;
      throw new CapacityError('FILE_UNWRITABLE', `cannot create ${join(results, name)}`, OTHER_FOLDER, { cause });
    }
  }

  get id(): string {
    return basename(this.directory);
  }

  /** @throws CapacityError FILE_UNWRITABLE; what could be written of the line is taken back */
  append(type: string, fact: object): void {
    const line = `${JSON.stringify({ at: new Date().toISOString(), type, ...fact })}\n`;
    const path = join(this.directory, 'record.ndjson');
    try {
      appendFileSync(path, line);
    } catch (cause) {
      // It may have gone with its folder.
      attempt(() => truncateSync(path, this.#recordBytes));
      throw unwritable(path, cause);
    }
    this.#recordBytes += Buffer.byteLength(line);
  }

  /**
   * Writes result.json, checked against its schema, and points `latest` to this run. It may be written again as the run
   * goes on.
   * @returns its path
   * @throws CapacityError FILE_UNWRITABLE; UNEXPECTED, with what was measured kept beside the record
   */
  write(result: Result): string {
    const checked = resultSchema.safeParse(result);
    if (!checked.success) {
      const kept = this.#replace('result.unsound.json', result);
      throw new CapacityError(
        'UNEXPECTED',
        `the result contains impossible figures, which is a bug\n${formatProblems(problemsOf(checked.error, []))}`,
        `please report it with ${kept}, which has everything that was measured`,
      );
    }
    const path = this.#replace('result.json', checked.data);
    try {
      replace(this.#latest, (temporary) => symlinkSync(this.id, temporary));
    } catch (cause) {
      throw unwritable(this.#latest, cause);
    }
    return path;
  }

  /** A run that was refused before it measured anything leaves no folder. */
  discard(): void {
    rmSync(this.directory, { recursive: true, force: true });
    // Other runs may have left their results there.
    attempt(() => rmdirSync(this.#results));
  }

  #replace(name: string, content: object): string {
    const path = join(this.directory, name);
    try {
      replace(path, (temporary) => writeFileSync(temporary, `${JSON.stringify(content, null, 1)}\n`));
    } catch (cause) {
      throw unwritable(path, cause);
    }
    return path;
  }
}

const OTHER_FOLDER = 'set config.plugins.socketio-capacity.results to a folder that you may write to';

function unwritable(path: string, cause: unknown): CapacityError {
  const fix = `make room on its disk, and leave its folder alone while a run goes on; or ${OTHER_FOLDER}`;
  return new CapacityError('FILE_UNWRITABLE', `cannot write ${path}`, fix, { cause });
}

/** Anything else in its place would be replaced by a link, without asking. */
function requireLink(latest: string): void {
  if (lstatSync(latest, { throwIfNoEntry: false })?.isSymbolicLink() ?? true) return;
  throw new CapacityError(
    'FILE_UNWRITABLE',
    `${latest} is a file or a folder, where a run keeps the link to its results`,
    `move it away, or ${OTHER_FOLDER}`,
  );
}
