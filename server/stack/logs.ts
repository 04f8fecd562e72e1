import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { attempt } from '../../protocol/base/attempt.ts';

/** A server that says much writes more in an hour than a text can hold. */
const MAX_BYTES = 2 ** 20;

/** @returns the last lines of a log, indented, for an error message */
export function logTail(file: string, lines = 12): string {
  const text = attempt(() => endOf(file).trim());
  if (!text) return `  (${file} is empty)`;
  return text
    .split('\n')
    .slice(-lines)
    .map((line) => `  ${line}`)
    .join('\n');
}

/** @returns its last megabyte @throws Error if there is none */
export function endOf(file: string): string {
  const log = openSync(file, 'r');
  try {
    const { size } = fstatSync(log);
    const end = Buffer.alloc(Math.min(size, MAX_BYTES));
    return end.toString('utf8', 0, readSync(log, end, 0, end.length, size - end.length));
  } finally {
    closeSync(log);
  }
}
