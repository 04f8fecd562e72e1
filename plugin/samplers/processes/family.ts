/** What a process has started belongs to it: a worker can keep in a child of its own what a connection costs. */
import type { LayerPids } from './memory.ts';
import { processTable, readProcess, withDescendants } from './process-table.ts';

/** How old the knowledge of who has started whom may be: to look at all processes takes some milliseconds. */
export const MAX_AGE_MS = 5000;

/** @returns the workers, and apart from them as `workerChildren` what they have started, and is there now */
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
  return found.filter((pid) => readProcess(pid)?.startedAtUs === table.get(pid)?.startedAtUs).sort((a, b) => a - b);
}
