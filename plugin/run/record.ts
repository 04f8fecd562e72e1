/** The run record: one JSON line per fact, written as it happens, so that a killed run leaves what it had measured. */
import { appendFileSync, mkdirSync, renameSync, rmdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CapacityError } from '../../protocol/errors.ts';
import { formatProblems, problemsOf } from '../../protocol/problems.ts';
import { type Result, resultSchema } from '../../protocol/result.ts';

export class RunRecord {
  readonly directory: string;
  readonly #results: string;
  readonly #runId: string;

  /** @throws CapacityError RESULTS_UNWRITABLE */
  constructor(results: string, runId: string) {
    this.#results = results;
    this.#runId = runId;
    this.directory = join(results, runId);
    try {
      mkdirSync(results, { recursive: true });
      mkdirSync(this.directory);
    } catch (error) {
      throw new CapacityError(
        'RESULTS_UNWRITABLE',
        `cannot create ${this.directory}`,
        'set config.plugins.socketio-capacity.results to a folder that you can write to',
        { cause: error },
      );
    }
  }

  append(type: string, fact: object): void {
    const line = JSON.stringify({ at: new Date().toISOString(), type, ...fact });
    appendFileSync(join(this.directory, 'record.ndjson'), `${line}\n`);
  }

  /**
   * Writes result.json, checked against its schema, and points `latest` to this run. It may be written again as the run
   * goes on.
   * @returns its path
   * @throws CapacityError RESULT_UNSOUND, with what was measured kept beside the record
   */
  write(result: Result): string {
    const path = join(this.directory, 'result.json');
    const checked = resultSchema.safeParse(result);
    if (!checked.success) {
      const kept = join(this.directory, 'result.unsound.json');
      writeFileSync(kept, `${JSON.stringify(result, null, 1)}\n`);
      throw new CapacityError(
        'RESULT_UNSOUND',
        `the result contains impossible figures, which is a bug\n${formatProblems(problemsOf(checked.error, [], []))}`,
        `please report it with ${kept}, which has everything that was measured`,
      );
    }
    const text = `${JSON.stringify(checked.data, null, 1)}\n`;
    replace(path, (temporary) => writeFileSync(temporary, text));
    replace(join(this.#results, 'latest'), (temporary) => symlinkSync(this.#runId, temporary));
    return path;
  }

  /** A run that was refused before it measured anything leaves no folder. */
  discard(): void {
    rmSync(this.directory, { recursive: true, force: true });
    try {
      rmdirSync(this.#results);
    } catch {
      // Other runs have left their results there.
    }
  }
}

/** Whoever reads meanwhile, or after we were killed, sees the old file or the new one. */
function replace(path: string, create: (temporary: string) => void): void {
  const temporary = `${path}.${process.pid}`;
  create(temporary);
  renameSync(temporary, path);
}
