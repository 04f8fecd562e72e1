/** Detects when a process of the deployment exits or is halted, and records its open files before the exit. */
import { readdirSync, statSync } from 'node:fs';
import { monotonicUs } from '../../../protocol/base/clock/clock.ts';
import { limitsOfProcess } from '../../../protocol/base/machine/open-files.ts';
import { tryOrUndefined } from '../../../protocol/base/try-or-undefined.ts';
import { executableOf } from './membership.ts';
import { type HaltedState, isProcessAlive, livingStat } from './proc.ts';
import type { LayerPids } from './process-memory.ts';
import { printableCommandOf } from './process-name.ts';

interface LayerProcess {
  pid: number;
  /** Id of the process's layer: `worker`, or one of the named layers. */
  layer: string;
  command: string;
}

export interface EndedProcess extends LayerProcess {
  /** Time at which the exit was detected, at most `POLL_MS` after the exit. */
  atUs: number;
  /** Number of open files and sockets when the process was last seen running; undefined if unknown. */
  openFiles: number | undefined;
  limit: number | undefined;
}

/** A process that the kernel did not run for at least `MIN_HALT_US`. */
export interface HaltedProcess extends LayerProcess {
  state: HaltedState;
  sinceUs: number;
  untilUs: number | undefined;
}

interface Watched extends Omit<EndedProcess, 'atUs'> {
  startedAtUs: number;
  parent: number;
  /** Whether the process runs another program than its parent, and so may be short-lived. */
  isHelper: boolean;
  isFromStart: boolean;
  firstFiles: number;
  halt: (HaltedProcess & { cpuUs: number }) | undefined;
}

type Ended = EndedProcess & Pick<Watched, 'parent'>;

const POLL_MS = 200;
const MAX_WATCHED = 100;
const MAX_ENDED = 100;
const MAX_HALTS = 100;
/** Minimum length of a halt in microseconds. Shorter halts are normal waits for a device. */
const MIN_HALT_US = 500_000;
/**
 * Maximum number of open files to count. Before Linux 6.2, the directory `/proc/<pid>/fd` reports no size, so the run
 * counts its entries if there are not too many.
 */
const MAX_COUNTED = 10_000;
/**
 * Number of files that a process that was started during the run must have opened to count as a process that holds
 * connections.
 */
const MIN_GROWTH = 5;
/** If parent and child exit within this time, only one exit is reported. */
const TOGETHER_US = 2e6;

export class ProcessWatch {
  readonly #watched = new Map<number, Watched>();
  readonly #ended: Ended[] = [];
  readonly #halts: HaltedProcess[] = [];
  readonly #timer = setInterval(() => this.#poll(), POLL_MS).unref();
  readonly #begun = new Set<string>();

  /**
   * Adds processes to watch, by layer. The processes in the first call for a layer count as started before the load.
   */
  add(layers: LayerPids): void {
    for (const [layer, pids] of Object.entries(layers)) this.#addLayer(layer, pids);
  }

  #addLayer(layer: string, pids: number[]): void {
    for (const pid of pids) {
      const stat = livingStat(pid);
      if (!stat || this.#watched.get(pid)?.startedAtUs === stat.startedAtUs || this.#watched.size >= MAX_WATCHED)
        continue;
      const { parent, startedAtUs } = stat;
      const openFiles = openFilesOf(pid);
      // Child processes of a proxy always count as short-lived: the proxy replaces them when it reloads.
      const isHelper = pids.includes(parent) && (layer !== 'worker' || executableOf(pid) !== executableOf(parent));
      const limit = limitsOfProcess(pid)?.soft;
      const named = { pid, layer, parent, startedAtUs, command: printableCommandOf(pid), halt: undefined };
      this.#watched.set(pid, {
        ...{ ...named, openFiles, isHelper, isFromStart: !this.#begun.has(layer), firstFiles: openFiles ?? 0 },
        limit: Number.isFinite(limit) ? limit : undefined,
      });
    }
    if (pids.length > 0) this.#begun.add(layer);
  }

  /**
   * Returns the exited processes in order. If parent and child exited together, returns only the process with more open
   * files.
   */
  ended(): EndedProcess[] {
    this.#poll();
    const isSame = (a: Ended, b: Ended) =>
      (a.parent === b.pid || b.parent === a.pid) && Math.abs(a.atUs - b.atUs) < TOGETHER_US;
    return this.#ended
      .filter((a) => !this.#ended.some((b) => isSame(a, b) && (b.openFiles ?? 0) > (a.openFiles ?? 0)))
      .map(({ parent: _, ...exit }) => exit);
  }

  /** Returns the periods in which processes were halted, in order. */
  halted(): HaltedProcess[] {
    this.#poll();
    const open = [...this.#watched.values()].flatMap(({ halt }) => halt ?? []);
    return [...this.#halts, ...open.filter(({ sinceUs }) => monotonicUs() - sinceUs >= MIN_HALT_US)]
      .map(({ pid, layer, command, state, sinceUs, untilUs }) => ({ pid, layer, command, state, sinceUs, untilUs }))
      .sort((a, b) => a.sinceUs - b.sinceUs);
  }

  /** Idempotent. */
  close(): void {
    clearInterval(this.#timer);
  }

  #poll(): void {
    const atUs = monotonicUs();
    for (const [pid, watched] of this.#watched) {
      this.#noteHalt(watched, atUs);
      if (isProcessAlive(watched)) {
        watched.openFiles = openFilesOf(pid, watched.openFiles) ?? watched.openFiles;
        continue;
      }
      this.#watched.delete(pid);
      const { layer, command, openFiles, limit, parent, isHelper, isFromStart, firstFiles } = watched;
      const held = isFromStart || (openFiles ?? 0) - firstFiles >= MIN_GROWTH;
      if (held && !isHelper && this.#ended.length < MAX_ENDED)
        this.#ended.push({ pid, layer, command, atUs, openFiles, limit, parent });
    }
  }

  #noteHalt(watched: Watched, atUs: number): void {
    const { pid, layer, command, isHelper, halt } = watched;
    if (isHelper) return;
    const { halted: state, cpuUs = 0 } = livingStat(pid) ?? {};
    if (halt && halt.state === state && halt.cpuUs === cpuUs) return;
    if (halt && atUs - halt.sinceUs >= MIN_HALT_US && this.#halts.length < MAX_HALTS)
      this.#halts.push({ ...halt, untilUs: atUs });
    watched.halt = state && { pid, layer, command, state, sinceUs: atUs, untilUs: undefined, cpuUs };
  }
}

/**
 * Returns the number of open files of a process; undefined if unknown.
 * @param before number of files at the last count, to avoid counting a long list repeatedly
 */
function openFilesOf(pid: number, before = 0): number | undefined {
  const path = `/proc/${pid}/fd`;
  const size = tryOrUndefined(() => statSync(path).size) ?? 0;
  if (size > 0 || before > MAX_COUNTED) return size > 0 ? size : undefined;
  return tryOrUndefined(() => readdirSync(path).length);
}
