/**
 * Identifies and ends processes that outlive their parent. Process ids are reused, so a process is identified by its id
 * and start time. It gets a signal only if both match and it runs as this user.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { tryOrUndefined } from '../../../protocol/base/try-or-undefined.ts';

export interface ProcessRef {
  pid: number;
  /**
   * Start time: clock ticks since boot on Linux, otherwise the date that `ps` prints. Start times are compared, but
   * never parsed.
   */
  startTime: string;
}

const POLL_INTERVAL_MS = 25;

/** Returns the start time of a running process of this user. Undefined if it is a zombie or does not run. */
function startTimeOf(pid: number): string | undefined {
  try {
    if (process.platform === 'linux') {
      // Reads the user id from a file. The owner of /proc/<pid> is root if the program has capabilities.
      const [, uid] = /^Uid:\t(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
      return isThisUsers(uid) ? parseStatStartTime(readFileSync(`/proc/${pid}/stat`, 'utf8')) : undefined;
    }
    const [uid, state = 'Z', ...startedAt] = execFileSync('ps', ['-o', 'ruid=,stat=,lstart=', '-p', String(pid)], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
      .trim()
      .split(/\s+/);
    return state.startsWith('Z') || !isThisUsers(uid) ? undefined : startedAt.join(' ');
  } catch {
    return undefined;
  }
}

function isThisUsers(uid: string | undefined): boolean {
  return Number(uid) === process.getuid?.();
}

/**
 * Parses fields 3 (state) and 22 (start time) of `/proc/<pid>/stat`. Field 2, the name, can contain spaces and
 * brackets.
 */
export function parseStatStartTime(stat: string): string | undefined {
  const fromField3 = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fromField3[0] === 'Z' || fromField3[0] === 'X' ? undefined : fromField3[22 - 3];
}

/** Returns this user's process with its start time; undefined if it does not run. */
export function processRef(pid: number | undefined): ProcessRef | undefined {
  const startTime = pid ? startTimeOf(pid) : undefined;
  return pid && startTime ? { pid, startTime } : undefined;
}

export function isRefAlive(ref: ProcessRef): boolean {
  return startTimeOf(ref.pid) === ref.startTime;
}

/** Returns the process ids of the direct children. Empty if they cannot be read. */
export function childrenOf(pid: number): number[] {
  const list = tryOrUndefined(() =>
    process.platform === 'linux'
      ? readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
      : execFileSync('pgrep', ['-P', String(pid)], { encoding: 'utf8' }),
  );
  return (list ?? '').trim().split(/\s+/).filter(Boolean).map(Number);
}

/**
 * Waits until all processes have ended.
 * @returns processes that still run after `timeoutMs`
 */
export async function waitUntilEnded(refs: ProcessRef[], timeoutMs: number): Promise<ProcessRef[]> {
  const deadline = performance.now() + timeoutMs;
  let running = refs.filter(isRefAlive);
  while (running.length > 0 && performance.now() < deadline) {
    await sleep(POLL_INTERVAL_MS);
    running = running.filter(isRefAlive);
  }
  return running;
}

/**
 * Sends SIGTERM, then SIGKILL to processes that still run after `graceMs`.
 * @returns processes that still run
 */
export async function terminateProcesses(refs: ProcessRef[], graceMs: number): Promise<ProcessRef[]> {
  for (const ref of refs) signal(ref, 'SIGTERM');
  const remaining = await waitUntilEnded(refs, graceMs);
  for (const ref of remaining) signal(ref, 'SIGKILL');
  return waitUntilEnded(remaining, 5_000);
}

function signal(ref: ProcessRef, name: NodeJS.Signals): void {
  if (!isRefAlive(ref)) return;
  try {
    process.kill(ref.pid, name);
  } catch (error) {
    // The process ended between the check and the signal.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
