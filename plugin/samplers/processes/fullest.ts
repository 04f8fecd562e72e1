/** Which process is nearest to its limit of open files: a server at that limit refuses connections without a word. */
import { readdir } from 'node:fs/promises';
import { limitsOfProcess } from '../../../protocol/machine/open-files.ts';
import { readProcessTable, withDescendants } from './process-table.ts';

export interface FullestProcess {
  pid: number;
  openFiles: number;
  /** The soft one, at which the kernel refuses. */
  limit: number;
}

/** @returns undefined where none tells, as those of other users, or none has a limit */
export async function fullestOf(pids: number[]): Promise<FullestProcess | undefined> {
  // A cluster's primary process may be the only one that listens.
  const all = pids.length > 0 ? [...withDescendants(pids, readProcessTable())] : [];
  const found = await Promise.all(
    all.map(async (pid) => {
      const files = await readdir(`/proc/${pid}/fd`).catch(() => undefined);
      const limit = limitsOfProcess(pid)?.soft ?? Number.POSITIVE_INFINITY;
      return files && Number.isFinite(limit) ? [{ pid, openFiles: files.length, limit }] : [];
    }),
  );
  return found.flat().toSorted((a, b) => b.openFiles / b.limit - a.openFiles / a.limit)[0];
}
