/**
 * Memory and CPU time of processes: from /proc on Linux; elsewhere RSS and CPU time through `pidusage`, which asks `ps`.
 * A process that has ended is missing in the result.
 */
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pidusage from 'pidusage';
import { attempt } from '../../../protocol/base/attempt.ts';
import { PAGE_SIZE_BYTES, TICK_US } from '../../../protocol/base/machine/auxv.ts';
import { parseSmapsRollup, type SmapsRollup } from '../../../protocol/base/machine/kernel.ts';

/** PSS, the proportional set size, divides shared pages by their users, so that processes add up. Linux only, if requested. */
export interface ProcessReading extends Partial<SmapsRollup> {
  rssBytes: number;
  /** User and system time of all threads since the start of the process, in steps of one clock tick (10 ms). */
  cpuUs: number;
  /** Microseconds since boot (elsewhere than on Linux since 1970, to the second). Increases when a pid is reused. */
  startedAtUs: number;
  /** On Linux: who has started it, as long as that is there. */
  parent?: number;
  /** On Linux: CPU time of processes that it has started, and that have ended since, with that of theirs. */
  reapedUs?: number;
}

/** States in proc_pid_stat(5). */
const HALTED = ['T', 't', 'D'] as const;
export type HaltedState = (typeof HALTED)[number];

/** What /proc/<pid>/stat says. */
export interface ProcessStat extends Required<Omit<ProcessReading, 'pssBytes' | 'anonymousBytes' | 'sharedBytes'>> {
  pid: number;
  /** The program's, at most 15 characters, any of them. */
  name: string;
  /** CPU on which it ran last. */
  lastCpu: number;
  /** It has ended, and nobody has asked for it yet: it has no memory left. */
  isZombie: boolean;
  /** The kernel does not run it: stopped by a signal or a debugger, or waiting for a device. */
  halted?: HaltedState;
}

/**
 * @param options.pss also read the proportional set size. For it the kernel walks the page tables: about 5 ms for every
 *   500 MB, during which the process cannot map memory. Without it a reading is one small file, 0.02 ms.
 * @returns a reading of each living process; never throws
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

/** Synchronous, because this file never blocks, and five trips to the thread pool cost more than the read. */
export function statOf(pid: number, root = '/'): ProcessStat | undefined {
  return attempt(() => parseStat(readFileSync(join(root, `proc/${pid}/stat`), 'latin1')));
}

/** @returns undefined for a process that has ended, or that `isHidden` */
export function livingStat(pid: number): ProcessStat | undefined {
  const stat = statOf(pid);
  return stat?.isZombie ? undefined : stat;
}

/** @returns true also for a process that may no longer be read: only what is seen to have ended has ended */
export function isAlive({ pid, startedAtUs }: Pick<ProcessStat, 'pid' | 'startedAtUs'>): boolean {
  const stat = statOf(pid);
  return stat ? !stat.isZombie && stat.startedAtUs === startedAtUs : isHidden(pid);
}

/** @returns whether the process is there, and /proc does not show it to this user */
export function isHidden(pid: number): boolean {
  if (statOf(pid)) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Fields are counted as in proc_pid_stat(5): the first one after the state is the parent. */
const FIRST_FIELD = 4;
const LAST_CPU = 39;

/** @returns undefined for anything that is not a stat line */
export function parseStat(line: string): ProcessStat | undefined {
  // The command name is in parentheses and may itself contain spaces and parentheses; the rest is plain.
  const [open, close] = [line.indexOf('('), line.lastIndexOf(')')];
  const [state = '', ...fields] = line.slice(close + 2).split(' ');
  const at = (field: number) => Number(fields[field - FIRST_FIELD]);
  if (state === '' || fields.length <= LAST_CPU - FIRST_FIELD) return undefined;
  const halted = HALTED.find((one) => one === state);
  return {
    pid: Number.parseInt(line, 10),
    name: line.slice(open + 1, close),
    parent: at(4),
    rssBytes: at(24) * PAGE_SIZE_BYTES,
    cpuUs: (at(14) + at(15)) * TICK_US,
    reapedUs: (at(16) + at(17)) * TICK_US,
    startedAtUs: at(22) * TICK_US,
    lastCpu: at(LAST_CPU),
    isZombie: state === 'Z' || state === 'X',
    ...(halted && { halted }),
  };
}

/** Runs `ps` once for all pids; an unknown pid is missing in its result, or null there. */
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
