import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { tryOrUndefined } from '../../protocol/base/try-or-undefined.ts';

/** Maximum number of bytes to read. A log can be larger than the longest possible string. */
const MAX_BYTES = 2 ** 20;

/** Returns the last lines of a log with an indent, for an error message. */
export function logTail(file: string, lines = 12): string {
  const text = tryOrUndefined(() => readLogEnd(file).trim());
  if (!text) return `  (${file} is empty)`;
  return text
    .split('\n')
    .slice(-lines)
    .map((line) => `  ${line}`)
    .join('\n');
}

/**
 * Reads the last megabyte of a file.
 * @throws Error if the file does not exist
 */
export function readLogEnd(file: string): string {
  const log = openSync(file, 'r');
  try {
    const { size } = fstatSync(log);
    const buffer = Buffer.alloc(Math.min(size, MAX_BYTES));
    return buffer.toString('utf8', 0, readSync(log, buffer, 0, buffer.length, size - buffer.length));
  } finally {
    closeSync(log);
  }
}
