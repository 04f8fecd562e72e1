/** What people call a program: of an interpreter's process, its script, too. */
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { ProcessStat } from '../processes/proc.ts';

/** Node names its main thread, and so its process, itself. */
const INTERPRETER = /^((node-)?MainThread|node|deno|bun|python[\d.]*|ruby|perl|java|php|bash|sh)$/;
/** In place of a script. */
const CODE = /^(-[cep]|--eval|--print)$/;
const MAX_LENGTH = 40;

/** @returns e.g. `chromium`, `node tsc`; of a command line, only the names of program and script: others can be secrets */
export function programName({ pid, name }: Pick<ProcessStat, 'pid' | 'name'>, root = '/'): string {
  if (!INTERPRETER.test(name)) return name.slice(0, MAX_LENGTH).trim();
  const [program = '', ...others] = argumentsOf(pid, root);
  const code = others.findIndex((one) => CODE.test(one));
  // What stands before the script are options of the interpreter; what stands behind it is nobody's business.
  const script = others.find((one, index) => !one.startsWith('-') && (code < 0 || index < code)) ?? '';
  return [basename(program) || name, basename(script)].join(' ').slice(0, MAX_LENGTH).trim();
}

function argumentsOf(pid: number, root: string): string[] {
  try {
    return readFileSync(join(root, `proc/${pid}/cmdline`), 'utf8').split('\0');
  } catch {
    return []; // it has ended, or is somebody else's
  }
}
