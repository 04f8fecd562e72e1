/**
 * Limits the size and depth of parsed YAML and JSON. A few lines of YAML with aliases can expand to billions of values,
 * and JSON can be nested to any depth.
 */
import { closeSync, openSync, readSync } from 'node:fs';
import { formatPath, type InputProblem } from './problems.ts';

/**
 * Maximum number of values in a document. Scripts and results have far fewer, and this many are traversed in well under
 * a second.
 */
const MAX_VALUES = 1_000_000;
/** Maximum depth of nesting: a hundred times the depth of a normal flow, but far below the limit of the call stack. */
const MAX_DEPTH = 200;
/** Maximum size of a file in bytes: a hundred times the size of a run's JSON. */
const MAX_BYTES = 16 * 1024 ** 2;
const CHUNK_BYTES = 1024 ** 2;
/**
 * Maximum number of keys in an object. A run has far fewer workers, causes or layers. Some code compares every key with
 * every other key.
 */
const MAX_NAMES = 5000;
/** Maximum number of keys in the path that a problem shows. */
const SHOWN_DEPTH = 5;

/**
 * Returns the first problem with the size, the depth or the keys of a parsed value; undefined if there is none.
 * @param value parsed value; an alias counts each time it is used
 * @param reserved forbidden key
 * @param maxNames maximum number of keys in an object
 */
export function findSizeProblem(value: unknown, reserved?: string, maxNames = MAX_VALUES): InputProblem | undefined {
  let problem: InputProblem | undefined;
  let values = 0;
  const path: (string | number)[] = [];
  const refuse = (message: string) => {
    problem = { path: formatPath(path.slice(0, SHOWN_DEPTH)), message };
    return false;
  };

  /** Checks a value and its children. Returns false after the first problem. */
  function read(item: unknown): boolean {
    if (typeof item !== 'object' || item === null) return true;
    if (path.length >= MAX_DEPTH) return refuse(`nested more than ${MAX_DEPTH} levels deep`);
    // Iterates over the keys, because `entries` would create a list of all entries.
    const keys = Array.isArray(item) ? item.keys() : Object.keys(item);
    const { length } = Array.isArray(item) ? item : (keys as string[]);
    if (!Array.isArray(item) && length > maxNames) return refuse(`more than ${maxNames} names`);
    values += length;
    if (values > MAX_VALUES) return refuse(`more than ${MAX_VALUES} values, with each alias as often as it is used`);
    for (const key of keys) {
      path.push(key);
      if (key === reserved) return refuse(`${reserved} cannot be a name`);
      if (!read((item as Record<string | number, unknown>)[key])) return false;
      path.pop();
    }
    return true;
  }

  read(value);
  return problem;
}

/**
 * Reads an untrusted JSON file.
 * @throws Error if the file is too large or too deeply nested
 * @throws SyntaxError if the content is not JSON
 */
export function readUntrustedJson(path: string): unknown {
  const value: unknown = JSON.parse(readText(path));
  const problem = findSizeProblem(value, undefined, MAX_NAMES);
  if (problem) throw new Error(`${problem.path}: ${problem.message}`);
  return value;
}

/**
 * Reads a file in chunks with a size limit. An untrusted path can be a link to a device, which reports size 0 and never
 * ends.
 */
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
