/** Reads the command lines of processes, to find a server and to show the processes in reports. */
import { readFileSync } from 'node:fs';
import { printableCommand } from '../../../protocol/base/printable.ts';
import { tryOrUndefined } from '../../../protocol/base/try-or-undefined.ts';

const MAX_LENGTH = 160;
const MAX_WORDS = 4;

/**
 * Returns the words of a command line, separated by single spaces; empty for an exited process and for a kernel thread.
 */
export function readCommandLine(pid: number): string {
  return argumentsOf(pid).join(' ').replace(/\s+/g, ' ').trim();
}

/** Returns the command line on one line, without credentials, with at most 160 characters. */
export function printableCommandOf(pid: number): string {
  return printableCommand(argumentsOf(pid), MAX_LENGTH);
}

/**
 * Returns the words up to the script, such as `node --inspect server.js`; undefined if the first words contain no
 * script.
 */
export function programWords(pid: number): string[] | undefined {
  const words = readCommandLine(pid).split(' ');
  const script = words.findIndex((word, index) => index > 0 && !word.startsWith('-'));
  return script < 0 || script >= MAX_WORDS ? undefined : words.slice(0, script + 1);
}

function argumentsOf(pid: number): string[] {
  const line = tryOrUndefined(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8')) ?? '';
  return line.replace(/\0+$/, '').split('\0');
}
