/**
 * Memory and CPU time of processes: from /proc on Linux; elsewhere RSS and CPU time through `pidusage`, which asks `ps`.
 * A process that has ended is missing in the result.
 */
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import pidusage from 'pidusage';
import { PAGE_SIZE_BYTES, TICK_US } from '../../../protocol/machine/auxv.ts';
import { parseSmapsRollup } from '../../../protocol/machine/kernel.ts';

export interface ProcessReading {
  rssBytes: number;
  /** Proportional set size: shared pages divided by their users, so that processes add up. Linux only, if requested. */
  pssBytes?: number;
  /** User and system time of all threads since the start of the process, in steps of one clock tick (10 ms). */
  cpuUs: number;
  /** Microseconds since boot (elsewhere than on Linux since 1970, to the second). Increases when a pid is reused. */
  startedAtUs: number;
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
  try {
    // Synchronous, because this file never blocks, and five trips to the thread pool cost more than the read.
    const stat = parseStat(readFileSync(`/proc/${pid}/stat`, 'latin1'));
    if (stat === undefined || !pss) return stat;
    const rollup = parseSmapsRollup(await readFile(`/proc/${pid}/smaps_rollup`, 'latin1').catch(() => ''));
    return { ...stat, ...rollup };
  } catch {
    return undefined;
  }
}

/** @returns undefined for a zombie, which has no memory left, and for anything that is not a stat line */
export function parseStat(line: string): ProcessReading | undefined {
  // The command name is in parentheses and may itself contain spaces and parentheses; the rest is plain.
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ');
  const [state, userTicks, systemTicks, startTicks, rssPages] = [0, 11, 12, 19, 21].map((index) => fields[index]);
  if (state === undefined || state === 'Z' || state === 'X' || rssPages === undefined) return undefined;
  return {
    rssBytes: Number(rssPages) * PAGE_SIZE_BYTES,
    cpuUs: (Number(userTicks) + Number(systemTicks)) * TICK_US,
    startedAtUs: Number(startTicks) * TICK_US,
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
