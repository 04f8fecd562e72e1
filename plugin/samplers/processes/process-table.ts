/** Reads all processes of this machine that are visible to this user, with their parents and CPU times. Linux only. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { tryOrUndefined } from '../../../protocol/base/try-or-undefined.ts';
import { isProcessAlive, livingStat, type ProcessStat, readProcessStat } from './proc.ts';
import type { LayerPids } from './process-memory.ts';

export type ProcessTable = Map<number, ProcessStat>;

/** Number of processes that are read before the event loop handles other events. Reading this many takes 0.5 ms. */
const SLICE = 25;

/** Returns the running processes by pid; empty on systems other than Linux. */
export function readProcessTable(): ProcessTable {
  return new Map(pidsIn('/').flatMap((pid) => entryOf(livingStat(pid))));
}

/**
 * Reads the process table in slices, so that the event loop is not blocked for long.
 * @param root root folder of the file system; tests use another folder
 * @returns all processes by pid, zombies included
 */
export async function readProcessTableInSlices(root = '/'): Promise<ProcessTable> {
  const pids = pidsIn(root);
  const entries: [number, ProcessStat][] = [];
  for (let from = 0; from < pids.length; from += SLICE) {
    if (from > 0) await nextTurn();
    entries.push(...pids.slice(from, from + SLICE).flatMap((pid) => entryOf(readProcessStat(pid, root))));
  }
  return new Map(entries);
}

let last: { readAtMs: number; table: Promise<ProcessTable> } | undefined;

/** Returns the cached process table if it is recent enough. Otherwise, reads the table. */
export function cachedProcessTable(maxAgeMs = PROCESS_TABLE_MAX_AGE_MS): Promise<ProcessTable> {
  const now = performance.now();
  if (last === undefined || now - last.readAtMs > maxAgeMs) last = { readAtMs: now, table: readProcessTableInSlices() };
  return last.table;
}

export function withDescendants(roots: Iterable<number>, table: ProcessTable): Set<number> {
  const children = Map.groupBy(table.values(), ({ parent }) => parent);
  const found = new Set(roots);
  // The loop also visits processes that are added to the set while it runs.
  for (const pid of found) for (const child of children.get(pid) ?? []) found.add(child.pid);
  return found;
}

/** Maximum age of the cached process table in milliseconds. Reading all processes takes some milliseconds. */
export const PROCESS_TABLE_MAX_AGE_MS = 5000;

/**
 * Adds the workers' child processes, which may hold memory for connections.
 * @returns the layers; `worker` includes the children, and `workerChildren` lists them
 */
export async function addWorkerChildren({ worker = [], ...others }: LayerPids): Promise<LayerPids> {
  const children = await childrenOf(worker);
  return { ...others, worker: [...worker, ...children], workerChildren: children };
}

/** Returns the running descendants of the processes, except the generator's own. */
async function childrenOf(roots: number[]): Promise<number[]> {
  if (roots.length === 0 || process.platform !== 'linux') return [];
  let table = await cachedProcessTable(PROCESS_TABLE_MAX_AGE_MS);
  if (!roots.every((pid) => table.has(pid))) table = await cachedProcessTable(0);
  const own = withDescendants([process.pid], table);
  const found = [...withDescendants(roots, table)].filter((pid) => !roots.includes(pid) && !own.has(pid));
  return found.filter((pid) => isProcessAlive(table.get(pid) as ProcessStat)).sort((a, b) => a - b);
}

function pidsIn(root: string): number[] {
  const names = tryOrUndefined(() => readdirSync(join(root, 'proc'))) ?? [];
  return names.filter((name) => /^\d+$/.test(name)).map(Number);
}

function entryOf(stat: ProcessStat | undefined): [number, ProcessStat][] {
  return stat ? [[stat.pid, stat]] : [];
}
