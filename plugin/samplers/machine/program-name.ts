/** What people call a program: of an interpreter's process, its script, too. */
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { ProcessStat } from '../processes/proc.ts';

/** Node names its main thread, and so its process, itself. */
const INTERPRETER = /^((node-)?MainThread|node|deno|bun|python[\d.]*|ruby|perl|java|php|bash|sh)$/;
const MAX_LENGTH = 40;

/** @returns e.g. `chromium`, `node tsc`; of a command line, only the names of program and script: others can be secrets */
export function programName({ pid, name }: Pick<ProcessStat, 'pid' | 'name'>, root = '/'): string {
  if (!INTERPRETER.test(name)) return name.slice(0, MAX_LENGTH);
  const [program = '', script = ''] = argumentsOf(pid, root);
  const isScript = script !== '' && !script.startsWith('-');
  const said = [basename(program) || name, ...(isScript ? [basename(script)] : [])].join(' ');
  return said.slice(0, MAX_LENGTH);
}

function argumentsOf(pid: number, root: string): string[] {
  try {
    return readFileSync(join(root, `proc/${pid}/cmdline`), 'utf8').split('\0');
  } catch {
    return []; // it has ended, or is somebody else's
  }
}
