/** Sums the memory of a layer's processes, and derives its PSS between the rare readings of PSS. */
import { readdirSync } from 'node:fs';
import { attempt } from '../../../protocol/base/attempt.ts';
import type { SmapsRollup } from '../../../protocol/base/machine/kernel.ts';
import { Absent, NotInRun } from '../absence.ts';
import { isHidden, type ProcessReading } from './proc.ts';

/** Process ids by layer. A layer without processes on this machine is missing or empty. */
export type LayerPids = Record<string, number[]>;

export const PSS_UNREADABLE =
  process.platform === 'linux'
    ? '/proc/<pid>/smaps is readable only by its user and by root'
    : 'available on Linux only';

/** Why `/proc` does not show an existing process. */
export const HIDDEN = 'another user owns them, and /proc hides them (mount option hidepid)';

/** @throws Absent if the figure of a process is missing, as a sum over the rest would be too low */
export function sumOver(
  pids: number[] = [],
  processes: Map<number, ProcessReading>,
  bytes: 'rssBytes' | keyof SmapsRollup,
): number {
  if (pids.length === 0) throw new NotInRun('none of its processes is known on this machine');
  const missing = pids.filter((pid) => !processes.has(pid));
  const hidden = missing.filter(isHidden);
  if (hidden.length > 0)
    throw new Absent('refused', `${hidden.length} of its ${pids.length} processes may not be read: ${HIDDEN}`);
  const gone =
    pids.length === 1 ? 'its process has ended' : `${missing.length} of its ${pids.length} processes have ended`;
  if (missing.length > 0) throw new Absent('gone', gone);
  return pids.reduce((sum, pid) => {
    const own = processes.get(pid)?.[bytes];
    if (own === undefined) throw new Absent('unsupported', PSS_UNREADABLE);
    return sum + own;
  }, 0);
}

/** @throws Error if one of the processes has exited, or belongs to another user */
export function openFilesOf(pids: number[] = []): number {
  if (pids.length === 0) throw new NotInRun('none of its processes is known on this machine');
  return pids.reduce((sum, pid) => sum + readdirSync(`/proc/${pid}/fd`).length, 0);
}

/** Derives PSS between its readings: the current RSS, less the difference of RSS and PSS at the last reading. */
export class SharedPages {
  readonly #bytes = new Map<string, { pids: string; shared: number }>();

  /** Takes a reading with PSS. Layers for which it is incomplete keep their previous difference. */
  note(layerPids: LayerPids, processes: Map<number, ProcessReading>): void {
    for (const [layer, pids] of Object.entries(layerPids)) {
      const of = (bytes: 'rssBytes' | 'pssBytes') => sumOver(pids, processes, bytes);
      const shared = attempt(() => of('rssBytes') - of('pssBytes'));
      if (shared !== undefined) this.#bytes.set(layer, { pids: pids.join(), shared });
    }
  }

  /** Takes figures that processes on other machines report themselves. */
  noteReported(layer: string, rssBytes: number | undefined, pssBytes: number | undefined): void {
    if (rssBytes === undefined || pssBytes === undefined) return;
    this.#bytes.set(layer, { pids: '', shared: rssBytes - pssBytes });
  }

  /** Returns undefined if PSS was not read for exactly these processes. */
  derive(layer: string, pids: number[], rssBytes: number): number | undefined {
    const known = this.#bytes.get(layer);
    return known?.pids === pids.join() ? Math.max(0, rssBytes - known.shared) : undefined;
  }
}
