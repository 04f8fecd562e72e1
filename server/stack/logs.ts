import { readFileSync } from 'node:fs';

/** @returns the last lines of a log, indented, for an error message */
export function logTail(file: string, lines = 12): string {
  let text = '';
  try {
    text = readFileSync(file, 'utf8').trim();
  } catch {
    // There is no log: reported below.
  }
  if (!text) return `  (${file} is empty)`;
  return text
    .split('\n')
    .slice(-lines)
    .map((line) => `  ${line}`)
    .join('\n');
}
