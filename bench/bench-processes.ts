/** CPU time and memory of a process with all its descendants, from /proc (Linux). */
import { readdirSync, readFileSync } from 'node:fs';
import { readProcessTable, withDescendants } from '../plugin/samplers/processes/process-table.ts';
import { attempt } from '../protocol/base/attempt.ts';
import { parseSmapsRollup } from '../protocol/base/machine/kernel.ts';

export class ProcessTree {
  readonly rootPid: number;
  /** Last known CPU time of every thread seen, so that threads that have ended still count. */
  readonly #cpuNs = new Map<string, number>();

  constructor(rootPid: number) {
    this.rootPid = rootPid;
  }

  /** Root first. A process whose ancestors have ended is not found. */
  pids(): number[] {
    const table = readProcessTable();
    return table.has(this.rootPid) ? [...withDescendants([this.rootPid], table)] : [];
  }

  /** User and system time of all threads since their start, in microseconds; the scheduler counts in nanoseconds. */
  cpuUs(): number {
    for (const pid of this.pids()) {
      for (const tid of attempt(() => readdirSync(`/proc/${pid}/task`)) ?? []) {
        const ns = attempt(() => readFileSync(`/proc/${pid}/task/${tid}/schedstat`, 'latin1'))?.split(' ')[0];
        if (ns !== undefined) this.#cpuNs.set(`${pid} ${tid}`, Number(ns));
      }
    }
    let totalNs = 0;
    for (const ns of this.#cpuNs.values()) totalNs += ns;
    return totalNs / 1000;
  }

  /** Proportional set size: memory pages shared by several processes are divided among them. */
  pssBytes(): number {
    return this.pids().reduce((total, pid) => {
      const rollup = attempt(() => readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1'));
      return total + ((rollup && parseSmapsRollup(rollup)?.pssBytes) || 0);
    }, 0);
  }

  kill(signal: NodeJS.Signals): void {
    // It may have ended meanwhile.
    for (const pid of this.pids()) attempt(() => process.kill(pid, signal));
  }
}
