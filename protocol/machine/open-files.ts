/** How many files a process can open; every connection counts against this limit. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** Infinite if there is no limit. */
interface OpenFileLimits {
  soft: number;
  hard: number;
}

/** Of this process. Node itself has raised the soft limit to the hard one, for its children, too. */
export function openFileLimits(): OpenFileLimits {
  const found = /Max open files\s+(\S+)\s+(\S+)/.exec(readLimits() ?? '');
  if (found) return { soft: toLimit(found[1]), hard: toLimit(found[2]) };
  const limit = toLimit(execFileSync('sh', ['-c', 'ulimit -n'], { encoding: 'utf8' }).trim());
  return { soft: limit, hard: limit };
}

function readLimits(): string | undefined {
  try {
    return readFileSync('/proc/self/limits', 'utf8');
  } catch {
    return undefined; // not Linux
  }
}

function toLimit(text: string | undefined): number {
  return text === undefined || text === 'unlimited' ? Number.POSITIVE_INFINITY : Number(text);
}
