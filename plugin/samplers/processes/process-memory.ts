/** Sums the memory of a layer's processes. Between the rare readings of PSS, estimates PSS from RSS. */
import { readdirSync } from 'node:fs';
import type { SmapsRollup } from '../../../protocol/base/machine/kernel.ts';
import { tryOrUndefined } from '../../../protocol/base/try-or-undefined.ts';
import { NotInRunError, SourceAbsentError } from '../absence.ts';
import { isHidden, type ProcessReading } from './proc.ts';

/** Process ids by layer. A layer without processes on this machine is missing or empty. */
export type LayerPids = Record<string, number[]>;

export const PSS_UNREADABLE_REASON =
  process.platform === 'linux'
    ? '/proc/<pid>/smaps is readable only by its user and by root'
    : 'available on Linux only';

/** Text that explains why `/proc` does not show an existing process to the user of the run. */
export const HIDDEN_PROCESS_REASON = 'another user owns them, and /proc hides them (mount option hidepid)';

/**
 * Sums a figure of a layer's processes.
 * @throws SourceAbsentError if the figure of a process is missing, because a sum over the other processes would be too
 * low
 */
export function sumProcessBytes(
  pids: number[] = [],
  processes: Map<number, ProcessReading>,
  bytes: 'rssBytes' | keyof SmapsRollup,
): number {
  if (pids.length === 0) throw new NotInRunError('none of its processes is known on this machine');
  const missing = pids.filter((pid) => !processes.has(pid));
  const hidden = missing.filter(isHidden);
  if (hidden.length > 0)
    throw new SourceAbsentError(
      'refused',
      `${hidden.length} of its ${pids.length} processes may not be read: ${HIDDEN_PROCESS_REASON}`,
    );
  const gone =
    pids.length === 1 ? 'its process has ended' : `${missing.length} of its ${pids.length} processes have ended`;
  if (missing.length > 0) throw new SourceAbsentError('gone', gone);
  return pids.reduce((sum, pid) => {
    const own = processes.get(pid)?.[bytes];
    if (own === undefined) throw new SourceAbsentError('unsupported', PSS_UNREADABLE_REASON);
    return sum + own;
  }, 0);
}

/**
 * Returns the number of open files of the processes.
 * @throws Error if one of the processes has exited, or belongs to another user
 */
export function openFilesOf(pids: number[] = []): number {
  if (pids.length === 0) throw new NotInRunError('none of its processes is known on this machine');
  return pids.reduce((sum, pid) => sum + readdirSync(`/proc/${pid}/fd`).length, 0);
}

/** Estimates PSS between its readings: the current RSS, less the difference between RSS and PSS at the last reading. */
export class SharedPages {
  readonly #bytes = new Map<string, { pids: string; shared: number }>();

  /** Records a reading with PSS. If the PSS of a process is missing, its layer keeps the previous difference. */
  note(layerPids: LayerPids, processes: Map<number, ProcessReading>): void {
    for (const [layer, pids] of Object.entries(layerPids)) {
      const of = (bytes: 'rssBytes' | 'pssBytes') => sumProcessBytes(pids, processes, bytes);
      const shared = tryOrUndefined(() => of('rssBytes') - of('pssBytes'));
      if (shared !== undefined) this.#bytes.set(layer, { pids: pids.join(), shared });
    }
  }

  /** Records memory figures of processes on other machines, as these processes report them. */
  noteReported(layer: string, rssBytes: number | undefined, pssBytes: number | undefined): void {
    if (rssBytes === undefined || pssBytes === undefined) return;
    this.#bytes.set(layer, { pids: '', shared: rssBytes - pssBytes });
  }

  /** Returns the estimated PSS; undefined if the last reading of PSS covered other processes. */
  derive(layer: string, pids: number[], rssBytes: number): number | undefined {
    const known = this.#bytes.get(layer);
    return known?.pids === pids.join() ? Math.max(0, rssBytes - known.shared) : undefined;
  }
}
