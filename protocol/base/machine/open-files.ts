/** How many files a process can open; every connection counts against this limit. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { attempt } from '../attempt.ts';

/** Infinite if there is no limit. */
interface OpenFileLimits {
  soft: number;
  hard: number;
}

/** Limits of this process. Node itself has raised the soft limit to the hard one, for its children, too. */
export function openFileLimits(): OpenFileLimits {
  const found = limitsOfProcess('self');
  if (found) return found;
  const limit = toLimit(execFileSync('sh', ['-c', 'ulimit -n'], { encoding: 'utf8' }).trim());
  return { soft: limit, hard: limit };
}

/** @returns undefined where it is not readable, as on other systems than Linux */
export function limitsOfProcess(pid: number | 'self'): OpenFileLimits | undefined {
  const limits = attempt(() => readFileSync(`/proc/${pid}/limits`, 'utf8')) ?? '';
  const found = /Max open files\s+(\S+)\s+(\S+)/.exec(limits);
  return found ? { soft: toLimit(found[1]), hard: toLimit(found[2]) } : undefined;
}

function toLimit(text: string | undefined): number {
  return text === undefined || text === 'unlimited' ? Number.POSITIVE_INFINITY : Number(text);
}
