/** Reads the runs named on the command line: a result.json, a run's folder, or a folder with repeat.json. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { repeatSchema } from '../../../protocol/documents/repeat.ts';
import { CapacityError } from '../../../protocol/errors.ts';
import type { RunSet } from '../../../report/compare/compare.ts';
import { readResult } from '../../../report/read.ts';

const REPEAT = 'repeat.json';

/** @throws CapacityError REPEAT_UNREADABLE, and those of `readResult` */
export function readRunSet(path: string): RunSet {
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory();
  if (isFolder && existsSync(join(path, REPEAT))) return readRepeat(join(path, REPEAT));
  if (basename(path) === REPEAT) return readRepeat(path);
  return { name: path, results: [readResult(path)] };
}

/** The runs with a result. */
function readRepeat(path: string): RunSet {
  const folder = dirname(path);
  const paths = parseRepeat(path).runs.flatMap(({ result }) => result ?? []);
  if (paths.length === 0) throw unreadable(path, 'none of its runs has a result');
  return { name: folder, results: paths.map((result) => readResult(join(folder, result))) };
}

function parseRepeat(path: string) {
  try {
    return repeatSchema.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch (cause) {
    throw unreadable(path, 'it is not a valid repeat.json', cause);
  }
}

function unreadable(path: string, why: string, cause?: unknown): CapacityError {
  const fix = 'name a folder written by `npx socketio-capacity repeat`';
  return new CapacityError('REPEAT_UNREADABLE', `${path}: ${why}`, fix, { cause });
}
