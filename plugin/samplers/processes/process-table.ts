/** All processes of this machine, as far as this process sees them: who started whom, and what each has used. Linux only. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type ProcessStat, parseStat } from './proc.ts';

export type ProcessTable = Map<number, ProcessStat>;

/** Read at a stretch, before the event loop has its turn: 0.5 ms. */
const SLICE = 25;

/** @returns by pid, those that live; empty elsewhere than on Linux */
export function readProcessTable(): ProcessTable {
  return new Map(pidsIn('/').flatMap((pid) => entryOf(readProcess(pid))));
}

/**
 * For hundreds of processes while connections are made.
 * @param root of the file system, for tests
 * @returns with those that have ended, and that nobody has asked for yet
 */
export async function readProcessTableInSlices(root = '/'): Promise<ProcessTable> {
  const pids = pidsIn(root);
  const entries: [number, ProcessStat][] = [];
  for (let from = 0; from < pids.length; from += SLICE) {
    if (from > 0) await nextTurn();
    entries.push(...pids.slice(from, from + SLICE).flatMap((pid) => entryOf(statOf(pid, root))));
  }
  return new Map(entries);
}

let last: { readAtMs: number; table: Promise<ProcessTable> } | undefined;

/** @param maxAgeMs one that was read so recently is good enough @returns as `readProcessTableInSlices` */
export function processTable(maxAgeMs: number): Promise<ProcessTable> {
  const now = performance.now();
  if (last === undefined || now - last.readAtMs > maxAgeMs) last = { readAtMs: now, table: readProcessTableInSlices() };
  return last.table;
}

/** @returns undefined for a process that has ended */
export function readProcess(pid: number): ProcessStat | undefined {
  const stat = statOf(pid, '/');
  return stat?.isZombie ? undefined : stat;
}

/** @returns the roots and what they have started, directly or not */
export function withDescendants(roots: Iterable<number>, table: ProcessTable): Set<number> {
  const children = Map.groupBy(table.values(), ({ parent }) => parent);
  const found = new Set(roots);
  // A set yields what is added while it is walked through.
  for (const pid of found) for (const child of children.get(pid) ?? []) found.add(child.pid);
  return found;
}

function pidsIn(root: string): number[] {
  try {
    return readdirSync(join(root, 'proc'))
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  } catch {
    return [];
  }
}

function statOf(pid: number, root: string): ProcessStat | undefined {
  try {
    return parseStat(readFileSync(join(root, `proc/${pid}/stat`), 'latin1'));
  } catch {
    return undefined; // it has ended
  }
}

function entryOf(stat: ProcessStat | undefined): [number, ProcessStat][] {
  return stat ? [[stat.pid, stat]] : [];
}
