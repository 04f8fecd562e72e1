/** Memory of a layer that consists of processes: their sum, and its PSS between the rare readings of that. */
import { readdirSync } from 'node:fs';
import { Absent, NotInRun } from '../absence.ts';
import { isHidden, type ProcessReading } from './proc.ts';

/** Process ids by layer; a layer without processes on this machine is missing or empty. */
export type LayerPids = Record<string, number[]>;

export interface ProcessMemory {
  rssBytes: number;
  /** Only if requested, and readable for every process. */
  pssBytes?: number;
}

export const PSS_UNREADABLE =
  process.platform === 'linux'
    ? '/proc/<pid>/smaps_rollup is readable only by its user and by root'
    : 'available on Linux only';

/** Why `/proc` has no entry, or an unreadable one, for a process that is there. */
export const HIDDEN = 'another user owns them, and /proc hides them (mount option hidepid)';

/** @throws Absent if a process is missing: a sum over only some processes would look like a saving */
export function processMemory(pids: number[] | undefined, processes: Map<number, ProcessReading>): ProcessMemory {
  if (pids === undefined || pids.length === 0) throw new NotInRun('none of its processes is known on this machine');
  const readings = pids.map((pid) => processes.get(pid)).filter((reading) => reading !== undefined);
  const missing = pids.filter((pid) => !processes.has(pid));
  const hidden = missing.filter(isHidden);
  if (hidden.length > 0)
    throw new Absent('refused', `${hidden.length} of its ${pids.length} processes may not be read: ${HIDDEN}`);
  const gone =
    pids.length === 1 ? 'its process has ended' : `${missing.length} of its ${pids.length} processes have ended`;
  if (missing.length > 0) throw new Absent('gone', gone);
  const memory = { rssBytes: 0, pssBytes: 0 };
  let complete = true;
  for (const { rssBytes, pssBytes } of readings) {
    memory.rssBytes += rssBytes;
    memory.pssBytes += pssBytes ?? 0;
    complete &&= pssBytes !== undefined;
  }
  return complete ? memory : { rssBytes: memory.rssBytes };
}

/** @throws Absent where it was not readable */
export function pssOf({ pssBytes }: ProcessMemory): number {
  if (pssBytes === undefined) throw new Absent('unsupported', PSS_UNREADABLE);
  return pssBytes;
}

/**
 * Memory of all processes in the layers that is no copy of a file, each process once.
 * @throws Error if the workers run elsewhere, or a part of a process is not readable
 */
export function pagesOf({ worker = [], ...others }: LayerPids, processes: Map<number, ProcessReading>) {
  if (worker.length === 0) throw new NotInRun('the processes of the workers are not known on this machine');
  const total = { anonymousBytes: 0, sharedBytes: 0 };
  for (const pid of new Set([worker, ...Object.values(others)].flat())) {
    const { anonymousBytes, sharedBytes } = processes.get(pid) ?? {};
    if (anonymousBytes === undefined || sharedBytes === undefined) throw new Error(PSS_UNREADABLE);
    total.anonymousBytes += anonymousBytes;
    total.sharedBytes += sharedBytes;
  }
  return total;
}

/** @throws Error if one of the processes has ended, or belongs to another user */
export function openFilesOf(pids: number[] = []): number {
  if (pids.length === 0) throw new NotInRun('none of its processes is known on this machine');
  return pids.reduce((sum, pid) => sum + readdirSync(`/proc/${pid}/fd`).length, 0);
}

/** PSS between its readings: RSS less what the processes of the layer shared at the last one. */
export class SharedPages {
  readonly #bytes = new Map<string, { pids: string; shared: number }>();

  /** Notes a reading with PSS. Layers that it does not cover in full keep their previous figures. */
  note(layerPids: LayerPids, processes: Map<number, ProcessReading>): void {
    for (const [layer, pids] of Object.entries(layerPids)) {
      if (pids.length === 0 || pids.some((pid) => processes.get(pid)?.pssBytes === undefined)) continue;
      const { rssBytes, pssBytes = 0 } = processMemory(pids, processes);
      this.#bytes.set(layer, { pids: pids.join(), shared: rssBytes - pssBytes });
    }
  }

  /** Takes what processes elsewhere report themselves. */
  noteReported(layer: string, rssBytes: number | undefined, pssBytes: number | undefined): void {
    if (rssBytes === undefined || pssBytes === undefined) return;
    this.#bytes.set(layer, { pids: '', shared: rssBytes - pssBytes });
  }

  /** @returns undefined where PSS has never been read of exactly these processes */
  derive(layer: string, pids: number[], { rssBytes }: Pick<ProcessMemory, 'rssBytes'>): number | undefined {
    const known = this.#bytes.get(layer);
    return known?.pids === pids.join() ? Math.max(0, rssBytes - known.shared) : undefined;
  }
}
