/** Reads the limit of open files of a process. Each connection uses one file. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { tryOrUndefined } from '../try-or-undefined.ts';

/** Limits of open files. A limit is `Infinity` if there is none. */
interface OpenFileLimits {
  soft: number;
  hard: number;
}

/** Returns the limits of this process. Node raises the soft limit to the hard limit, also for child processes. */
export function openFileLimits(): OpenFileLimits {
  const found = limitsOfProcess('self');
  if (found) return found;
  const limit = toLimit(execFileSync('sh', ['-c', 'ulimit -n'], { encoding: 'utf8' }).trim());
  return { soft: limit, hard: limit };
}

/**
 * Returns the limits of open files of a process; undefined if they cannot be read. Only Linux has a file with these
 * limits.
 */
export function limitsOfProcess(pid: number | 'self'): OpenFileLimits | undefined {
  const limits = tryOrUndefined(() => readFileSync(`/proc/${pid}/limits`, 'utf8')) ?? '';
  const found = /Max open files\s+(\S+)\s+(\S+)/.exec(limits);
  return found ? { soft: toLimit(found[1]), hard: toLimit(found[2]) } : undefined;
}

function toLimit(text: string | undefined): number {
  return text === undefined || text === 'unlimited' ? Number.POSITIVE_INFINITY : Number(text);
}
