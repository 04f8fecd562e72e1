/** What may be walked over to its end: a few lines of YAML can stand for billions of values, and JSON can be as deep as it is long. */
import { closeSync, openSync, readSync } from 'node:fs';
import { formatPath, type Problem } from './problems.ts';

/** Far more than any script or result has; whatever reads one to its end does so in well under a second. */
const MAX_VALUES = 1_000_000;
/** A hundred times what a flow needs, and far less than a call stack has. */
const MAX_DEPTH = 200;
/** A hundred times the JSON that a run writes. */
const MAX_BYTES = 16 * 1024 ** 2;
const CHUNK_BYTES = 1024 ** 2;
/** Names in one object: far more than workers, causes or layers of a run. Whoever lists names compares them with each other. */
const MAX_NAMES = 5000;
/** Keys that the place of a problem shows. */
const SHOWN_DEPTH = 5;

/**
 * @param value what is in it several times counts as often
 * @param reserved a name that nothing may have
 * @param maxNames of one object
 * @returns the first problem of size, depth or name; undefined without one
 */
export function boundProblem(value: unknown, reserved?: string, maxNames = MAX_VALUES): Problem | undefined {
  let problem: Problem | undefined;
  let values = 0;
  const path: (string | number)[] = [];
  const refuse = (message: string) => {
    problem = { path: formatPath(path.slice(0, SHOWN_DEPTH)), message };
    return false;
  };

  /** @returns false if nothing more is to be read */
  function read(one: unknown): boolean {
    if (typeof one !== 'object' || one === null) return true;
    if (path.length >= MAX_DEPTH) return refuse(`nested more than ${MAX_DEPTH} levels deep`);
    // Not `entries`, which would first make a list of all of them.
    const keys = Array.isArray(one) ? one.keys() : Object.keys(one);
    const { length } = Array.isArray(one) ? one : (keys as string[]);
    if (!Array.isArray(one) && length > maxNames) return refuse(`more than ${maxNames} names`);
    values += length;
    if (values > MAX_VALUES) return refuse(`more than ${MAX_VALUES} values, with each alias as often as it is used`);
    for (const key of keys) {
      path.push(key);
      if (key === reserved) return refuse(`${reserved} cannot be a name`);
      if (!read((one as Record<string | number, unknown>)[key])) return false;
      path.pop();
    }
    return true;
  }

  read(value);
  return problem;
}

/** @returns what is in a JSON file, whoever wrote it @throws Error for one that is too large or deep, SyntaxError */
export function readJson(path: string): unknown {
  const value: unknown = JSON.parse(readText(path));
  const problem = boundProblem(value, undefined, MAX_NAMES);
  if (problem) throw new Error(`${problem.path}: ${problem.message}`);
  return value;
}

/** What comes from others can be a link to a device, which has a size of 0 and no end. */
function readText(path: string): string {
  const file = openSync(path, 'r');
  try {
    const chunks: Buffer[] = [];
    let size = 0;
    for (;;) {
      const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
      const read = readSync(file, chunk);
      if (read === 0) return Buffer.concat(chunks).toString('utf8');
      chunks.push(chunk.subarray(0, read));
      size += read;
      if (size > MAX_BYTES) throw new Error(`it has more than ${MAX_BYTES / 1024 ** 2} MB`);
    }
  } finally {
    closeSync(file);
  }
}
