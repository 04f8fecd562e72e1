/** Reads CPU time and memory of a process and all its descendants from /proc (Linux). */
import { readdirSync, readFileSync } from 'node:fs';
import { readProcessTable, withDescendants } from '../plugin/samplers/processes/process-table.ts';
import { attempt } from '../protocol/base/attempt.ts';
import { parseSmapsRollup } from '../protocol/base/machine/kernel.ts';

export class ProcessTree {
  readonly rootPid: number;
  /** Last known CPU time by thread. Ended threads are kept, so that they still count. */
  readonly #cpuNs = new Map<string, number>();

  constructor(rootPid: number) {
    this.rootPid = rootPid;
  }

  /** Returns the pids, root first. Descendants whose parent has ended are not found. */
  pids(): number[] {
    const table = readProcessTable();
    return table.has(this.rootPid) ? [...withDescendants([this.rootPid], table)] : [];
  }

  /** Returns user and system time of all threads since their start, from the scheduler's nanosecond counters. */
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

  /** Returns the proportional set size: pages shared by several processes are divided among them. */
  pssBytes(): number {
    return this.pids().reduce((total, pid) => {
      const rollup = attempt(() => readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1'));
      return total + ((rollup && parseSmapsRollup(rollup)?.pssBytes) || 0);
    }, 0);
  }

  kill(signal: NodeJS.Signals): void {
    // The process may have ended meanwhile.
    for (const pid of this.pids()) attempt(() => process.kill(pid, signal));
  }
}
