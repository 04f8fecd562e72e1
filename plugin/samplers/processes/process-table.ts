/** All processes of this machine, as far as this process sees them: who started whom, and what each has used. Linux only. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { attempt } from '../../../protocol/base/attempt.ts';
import { isAlive, livingStat, type ProcessStat, statOf } from './proc.ts';
import type { LayerPids } from './process-memory.ts';

export type ProcessTable = Map<number, ProcessStat>;

/** Read at a stretch, before the event loop has its turn: 0.5 ms. */
const SLICE = 25;

/** @returns by pid, those that live; empty elsewhere than on Linux */
export function readProcessTable(): ProcessTable {
  return new Map(pidsIn('/').flatMap((pid) => entryOf(livingStat(pid))));
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
export function processTable(maxAgeMs = MAX_AGE_MS): Promise<ProcessTable> {
  const now = performance.now();
  if (last === undefined || now - last.readAtMs > maxAgeMs) last = { readAtMs: now, table: readProcessTableInSlices() };
  return last.table;
}

/** @returns the roots and what they have started, directly or not */
export function withDescendants(roots: Iterable<number>, table: ProcessTable): Set<number> {
  const children = Map.groupBy(table.values(), ({ parent }) => parent);
  const found = new Set(roots);
  // A set yields what is added while it is walked through.
  for (const pid of found) for (const child of children.get(pid) ?? []) found.add(child.pid);
  return found;
}

/** How old the knowledge of who has started whom may be: to look at all processes takes some milliseconds. */
export const MAX_AGE_MS = 5000;

/**
 * What a process has started belongs to it: a worker can keep in a child of its own what a connection costs.
 * @returns the workers, and apart from them as `workerChildren` what they have started, and is there now
 */
export async function withChildren({ worker = [], ...others }: LayerPids): Promise<LayerPids> {
  const children = await childrenOf(worker);
  return { ...others, worker: [...worker, ...children], workerChildren: children };
}

/** @returns none of the generator's own, if one of the roots has started that */
async function childrenOf(roots: number[]): Promise<number[]> {
  if (roots.length === 0 || process.platform !== 'linux') return [];
  let table = await processTable(MAX_AGE_MS);
  if (!roots.every((pid) => table.has(pid))) table = await processTable(0);
  const own = withDescendants([process.pid], table);
  const found = [...withDescendants(roots, table)].filter((pid) => !roots.includes(pid) && !own.has(pid));
  return found.filter((pid) => isAlive(table.get(pid) as ProcessStat)).sort((a, b) => a - b);
}

function pidsIn(root: string): number[] {
  const names = attempt(() => readdirSync(join(root, 'proc'))) ?? [];
  return names.filter((name) => /^\d+$/.test(name)).map(Number);
}

function entryOf(stat: ProcessStat | undefined): [number, ProcessStat][] {
  return stat ? [[stat.pid, stat]] : [];
}
