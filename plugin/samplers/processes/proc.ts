/**
 * Reads memory and CPU time of processes, on Linux from /proc. On other systems, reads RSS and CPU time with
 * `pidusage`, which runs `ps`.
 */
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pidusage from 'pidusage';
import {
  CLOCK_TICK_US,
  PAGE_SIZE_BYTES,
  parseSmapsRollup,
  type SmapsRollup,
} from '../../../protocol/base/machine/kernel.ts';
import { tryOrUndefined } from '../../../protocol/base/try-or-undefined.ts';

/**
 * Memory and CPU time of a process. PSS (proportional set size) divides each shared page between the processes that use
 * it, so PSS values can be summed. It is only read on Linux, on request.
 */
export interface ProcessReading extends Partial<SmapsRollup> {
  rssBytes: number;
  /** User and system time of all threads since the start of the process, in steps of one clock tick (10 ms). */
  cpuUs: number;
  /**
   * Start time of the process in microseconds since boot; on systems other than Linux, since 1970 in steps of a second.
   * It shows whether the pid was reused.
   */
  startedAtUs: number;
  /** Pid of the parent process. Linux only. */
  parent?: number;
  /** CPU time of exited descendants for which the process has waited. Linux only. */
  reapedUs?: number;
}

/** Process states of proc_pid_stat(5) in which the kernel does not run the process. */
const HALTED = ['T', 't', 'D'] as const;
export type HaltedState = (typeof HALTED)[number];

export interface ProcessStat extends Required<Omit<ProcessReading, 'pssBytes' | 'anonymousBytes' | 'sharedBytes'>> {
  pid: number;
  /** Name of the program, which can be any text of at most 15 characters. */
  name: string;
  lastCpu: number;
  /** Whether the process is a zombie: it has exited and has no memory, but its parent has not waited for it. */
  isZombie: boolean;
  /**
   * Why the process does not run: stopped by a signal or a debugger, or waiting for a device. Undefined for a running
   * process.
   */
  halted?: HaltedState;
}

/**
 * Reads each running process. Without PSS, a reading takes 0.02 ms.
 * @param options.pss also reads the PSS; the kernel then reads the page tables, which takes about 5 ms for every 500
 * MB, during which the process cannot map memory
 * @returns the readings by pid; never rejects
 */
export async function readProcesses(pids: number[], options: { pss: boolean }): Promise<Map<number, ProcessReading>> {
  const unique = [...new Set(pids)];
  if (process.platform !== 'linux') return readByPs(unique);
  const readings = await Promise.all(unique.map(async (pid) => [pid, await readProcess(pid, options.pss)] as const));
  return new Map(readings.filter((entry): entry is [number, ProcessReading] => entry[1] !== undefined));
}

async function readProcess(pid: number, pss: boolean): Promise<ProcessReading | undefined> {
  const stat = livingStat(pid);
  if (stat === undefined || !pss) return stat;
  const rollup = parseSmapsRollup(await readFile(`/proc/${pid}/smaps_rollup`, 'latin1').catch(() => ''));
  return { ...stat, ...rollup };
}

/**
 * Synchronous, because reading this file never blocks, and a read through the thread pool takes longer. With `utf8`, Node
 * takes half the CPU and no buffer of 64 KB, which would cause a garbage collection of the whole heap every 5 s.
 */
export function readProcessStat(pid: number, root = '/'): ProcessStat | undefined {
  return tryOrUndefined(() => parseProcStat(readFileSync(join(root, `proc/${pid}/stat`), 'utf8')));
}

/** Returns the status of a process; undefined if it has exited, or if /proc hides it from this user. */
export function livingStat(pid: number): ProcessStat | undefined {
  const stat = readProcessStat(pid);
  return stat?.isZombie ? undefined : stat;
}

/** Returns whether the process still exists, even if this user can no longer read it. */
export function isProcessAlive({ pid, startedAtUs }: Pick<ProcessStat, 'pid' | 'startedAtUs'>): boolean {
  const stat = readProcessStat(pid);
  return stat ? !stat.isZombie && stat.startedAtUs === startedAtUs : isHidden(pid);
}

/** Returns whether the process exists although /proc does not show it to this user. */
export function isHidden(pid: number): boolean {
  if (readProcessStat(pid)) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/**
 * Number of the first field after the state of the process; this field is the parent. Field numbers follow
 * proc_pid_stat(5).
 */
const FIRST_FIELD = 4;
const LAST_CPU = 39;

/** Parses a line of /proc/PID/stat; undefined for any other text. */
export function parseProcStat(line: string): ProcessStat | undefined {
  // The name is enclosed in parentheses, and may itself contain spaces and parentheses.
  const [open, close] = [line.indexOf('('), line.lastIndexOf(')')];
  const [state = '', ...fields] = line.slice(close + 2).split(' ');
  const at = (field: number) => Number(fields[field - FIRST_FIELD]);
  if (state === '' || fields.length <= LAST_CPU - FIRST_FIELD) return undefined;
  const halted = HALTED.find((letter) => letter === state);
  return {
    pid: Number.parseInt(line, 10),
    name: line.slice(open + 1, close),
    parent: at(4),
    rssBytes: at(24) * PAGE_SIZE_BYTES,
    cpuUs: (at(14) + at(15)) * CLOCK_TICK_US,
    reapedUs: (at(16) + at(17)) * CLOCK_TICK_US,
    startedAtUs: at(22) * CLOCK_TICK_US,
    lastCpu: at(LAST_CPU),
    isZombie: state === 'Z' || state === 'X',
    ...(halted && { halted }),
  };
}

/** Runs `ps` once for all pids. Exited processes are missing in the result. */
export async function readByPs(pids: number[]): Promise<Map<number, ProcessReading>> {
  const readings = new Map<number, ProcessReading>();
  const usages: Record<string, pidusage.Status | null> =
    pids.length === 0 ? {} : await pidusage(pids).catch(() => ({}));
  for (const usage of Object.values(usages)) {
    if (usage === null) continue;
    const startedAtUs = (usage.timestamp - usage.elapsed) * 1000;
    readings.set(usage.pid, { rssBytes: usage.memory, cpuUs: usage.ctime * 1000, startedAtUs });
  }
  return readings;
}
