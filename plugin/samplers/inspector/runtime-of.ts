/** Runtime of a process, by its program. */
import { closeSync, openSync, readlinkSync, readSync } from 'node:fs';
import { basename } from 'node:path';
import { attempt } from '../../../protocol/base/attempt.ts';
import type { Runtime } from '../../../protocol/documents/server-runtimes.ts';

const PROGRAMS: [Runtime, RegExp][] = [
  ['node', /^(node|nodejs|deno)([-_.]?v?\d[\w.-]*)?$/],
  ['jvm', /^java$/],
  ['bun', /^bunx?(-\w+)*(\.exe)?$/],
  ['python', /^(python|pypy)[\d.]*t?$/],
];
/** ELF note in which every Go program has its build id: its type, and its owner. */
const GO_NOTE = Buffer.from('\x04\0\0\0Go\0\0', 'latin1');
/** Linkers put notes at the beginning. */
const NOTES_BYTES = 64 * 1024;

/** @returns undefined for a process that has ended, or whose program this user cannot see */
export function runtimeOf(pid: number): Runtime | undefined {
  const path = attempt(() => readlinkSync(`/proc/${pid}/exe`));
  if (path === undefined) return undefined;
  const program = basename(path).replace(/ \(deleted\)$/, '');
  const named = PROGRAMS.find(([, pattern]) => pattern.test(program));
  if (named) return named[0];
  return attempt(() => beginningOfProgram(pid))?.includes(GO_NOTE) ? 'go' : 'other';
}

function beginningOfProgram(pid: number): Buffer {
  const file = openSync(`/proc/${pid}/exe`, 'r');
  try {
    const buffer = Buffer.alloc(NOTES_BYTES);
    return buffer.subarray(0, readSync(file, buffer));
  } finally {
    closeSync(file);
  }
}
