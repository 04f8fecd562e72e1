/** Notices when a process of the server ends, with the files that it had open: afterwards nothing on the machine tells of it. */
import { readdirSync, statSync } from 'node:fs';
import { monotonicUs } from '../../../protocol/clock/clock.ts';
import { attempt } from '../../../protocol/helpers/attempt.ts';
import { limitsOfProcess } from '../../../protocol/machine/open-files.ts';
import { shownCommand } from './command-line.ts';
import { executableOf } from './membership.ts';
import { isAlive, livingStat } from './proc.ts';

export interface EndedProcess {
  pid: number;
  command: string;
  /** When it was found to have ended, at most `LOOK_MS` later. */
  atUs: number;
  /** Files and sockets when it was last seen alive, and the limit; undefined where the kernel does not tell. */
  openFiles: number | undefined;
  limit: number | undefined;
}

interface Watched extends Omit<EndedProcess, 'atUs'> {
  startedAtUs: number;
  parent: number;
  /** A process that the server starts for a moment has another program than its parent. */
  isHelper: boolean;
  isFromStart: boolean;
  firstFiles: number;
}

type Ended = EndedProcess & Pick<Watched, 'parent'>;

const LOOK_MS = 200;
const MAX_WATCHED = 100;
const MAX_ENDED = 100;
/** Without the size of `/proc/<pid>/fd` (before Linux 6.2), its entries are counted up to here. */
const MAX_COUNTED = 10_000;
/** One that came during the run and held connections has opened more than these. */
const MIN_GROWTH = 5;
/** A process and the ones that started it end together. */
const TOGETHER_US = 2e6;

export class ProcessWatch {
  readonly #watched = new Map<number, Watched>();
  readonly #ended: Ended[] = [];
  readonly #timer = setInterval(() => this.#look(), LOOK_MS).unref();
  #began = false;

  /** Adds processes of the server. Those of the first call were there before the load. */
  add(pids: number[]): void {
    for (const pid of pids) {
      const stat = livingStat(pid);
      if (!stat || this.#watched.get(pid)?.startedAtUs === stat.startedAtUs || this.#watched.size >= MAX_WATCHED)
        continue;
      const { parent, startedAtUs } = stat;
      const openFiles = openFilesOf(pid);
      const isHelper = pids.includes(parent) && executableOf(pid) !== executableOf(parent);
      const limit = limitsOfProcess(pid)?.soft;
      const named = { pid, parent, startedAtUs, command: shownCommand(pid) };
      this.#watched.set(pid, {
        ...{ ...named, openFiles, isHelper, isFromStart: !this.#began, firstFiles: openFiles ?? 0 },
        limit: Number.isFinite(limit) ? limit : undefined,
      });
    }
    if (pids.length > 0) this.#began = true;
  }

  /** @returns the processes that ended, in order; of several that started each other and ended together, the one with most files */
  ended(): EndedProcess[] {
    this.#look();
    const isSame = (one: Ended, other: Ended) =>
      (one.parent === other.pid || other.parent === one.pid) && Math.abs(one.atUs - other.atUs) < TOGETHER_US;
    return this.#ended
      .filter(
        (one) => !this.#ended.some((other) => isSame(one, other) && (other.openFiles ?? 0) > (one.openFiles ?? 0)),
      )
      .map(({ parent: _, ...one }) => one);
  }

  /** Idempotent. */
  close(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const atUs = monotonicUs();
    for (const [pid, one] of this.#watched) {
      if (isAlive(one)) {
        one.openFiles = openFilesOf(pid, one.openFiles) ?? one.openFiles;
        continue;
      }
      this.#watched.delete(pid);
      const { command, openFiles, limit, parent, isHelper, isFromStart, firstFiles } = one;
      const held = isFromStart || (openFiles ?? 0) - firstFiles >= MIN_GROWTH;
      if (held && !isHelper && this.#ended.length < MAX_ENDED)
        this.#ended.push({ pid, command, atUs, openFiles, limit, parent });
    }
  }
}

/** @param before how many there were: a long list is not read again and again */
function openFilesOf(pid: number, before = 0): number | undefined {
  const path = `/proc/${pid}/fd`;
  const size = attempt(() => statSync(path).size) ?? 0;
  if (size > 0 || before > MAX_COUNTED) return size > 0 ? size : undefined;
  return attempt(() => readdirSync(path).length);
}
