/**
 * Measures the CPU time of the deployment and the generator, of other programs, of the kernel, and the time that the
 * hypervisor took. Together, they are the busy time, except for programs that exit before the process table is read.
 */
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type PressureReading, readCpu, readPressure } from '../../../protocol/base/machine/kernel.ts';
import { allowedCpus } from '../../../protocol/base/machine/usable.ts';
import { tryOrUndefined } from '../../../protocol/base/try-or-undefined.ts';
import { CpuIncrements } from '../processes/cpu-increments.ts';
import type { ProcessStat } from '../processes/proc.ts';
import {
  cachedProcessTable,
  type ProcessTable,
  readProcessTableInSlices,
  withDescendants,
} from '../processes/process-table.ts';

/** Total times of the CPUs that this process may use. Only differences between two readings are meaningful. */
export interface MachineTotals {
  atMs: number;
  cores: number;
  busyUs: number;
  /** Time that the hypervisor gave to other virtual machines. */
  stealUs: number;
  interruptUs: number;
  pressure: PressureReading | undefined;
  /**
   * CPU time of the deployment, the generator and other programs; undefined if the processes of the deployment are
   * unknown.
   */
  processes: ProcessTotals | undefined;
}

interface ProcessTotals {
  /** CPU time of the generator and the deployment. */
  oursUs: number;
  /** CPU time of the kernel's own threads, in microseconds. */
  kernelUs: number;
  othersUs: number;
  programsUs: ReadonlyMap<string, number>;
}

/** Pid of the kernel thread that is the parent of all kernel threads. */
const KTHREADD = 2;
/** Names of kernel threads whose CPU time is already part of the interrupt time. */
const SOFT_INTERRUPTS = /^ksoftirqd\//;
/** Maximum number of different program names. CPU time of programs beyond it is counted under `NAMELESS`. */
const MAX_NAMES = 200;
const NAMELESS = 'others';

type Owner = 'ours' | 'kernel' | 'others';

export class MachineTime {
  readonly #root: string;
  readonly #readTable: () => Promise<ProcessTable>;
  readonly #cpus: number[];
  readonly #areAll: boolean;
  readonly #increments = new CpuIncrements();
  /** Processes of the deployment and the generator, identified by pid and start time. */
  #ours = new Set<string>();
  /** Names of other programs, by pid and start time. */
  #names = new Map<string, string>();
  #isFirst = true;
  readonly #us: Record<Owner, number> = { ours: 0, kernel: 0, others: 0 };
  readonly #programsUs = new Map<string, number>();
  /** The previous reading. Each reading waits for it, so that two readings never overlap. */
  #previous: Promise<unknown> = Promise.resolve();

  /** @param root root folder of the file system; tests use another folder */
  constructor(root = '/') {
    this.#root = root;
    // Uses the cached process table that other readers share.
    this.#readTable = root === '/' ? () => cachedProcessTable(0) : () => readProcessTableInSlices(root);
    this.#cpus = allowedCpus(root);
    this.#areAll = this.#cpus.length >= cpusIn(root);
  }

  /**
   * Reads the CPU totals, which takes some milliseconds for hundreds of processes.
   * @param roots processes of generator and deployment, without their children; undefined if unknown
   * @throws Error with the reason if the kernel does not report CPU time
   */
  read(roots: number[] | undefined): Promise<MachineTotals> {
    const reading = this.#previous.then(() => this.#read(roots));
    this.#previous = reading.catch(() => {});
    return reading;
  }

  async #read(roots: number[] | undefined): Promise<MachineTotals> {
    const before = this.#readCpu();
    const table = roots && (await this.#readTable());
    const after = this.#readCpu();
    if (roots && table) this.#note(table, withDescendants(roots, table));
    const { ours: oursUs, kernel: kernelUs, others: othersUs } = this.#us;
    return {
      cores: this.#cpus.length,
      // A busy machine reads its processes slowly, so the totals are taken from the middle of the reading.
      ...{ atMs: half(before.atMs, after.atMs), busyUs: half(before.busyUs, after.busyUs) },
      ...{ stealUs: half(before.stealUs, after.stealUs), interruptUs: half(before.interruptUs, after.interruptUs) },
      pressure: readPressure(this.#root),
      processes: table && { oursUs, kernelUs, othersUs, programsUs: new Map(this.#programsUs) },
    };
  }

  #readCpu() {
    return { ...readCpu(this.#areAll ? undefined : this.#cpus, this.#root), atMs: performance.now() };
  }

  /**
   * Adds the CPU time of each process since the last reading. A process of the generator or the deployment still counts
   * for it after its parent has exited.
   */
  #note(table: ProcessTable, ours: Set<number>): void {
    const increments = this.#increments.add(table, () => true);
    const allOurs = [...table.values()].filter((stat) => ours.has(stat.pid) || this.#ours.has(keyOf(stat)));
    this.#ours = new Set(allOurs.map(keyOf));
    const names = new Map<string, string>();
    for (const stat of table.values()) {
      const us = increments.get(stat.pid) ?? 0;
      const owner = this.#ownerOf(stat);
      const known = this.#names.get(keyOf(stat));
      // The first reading only sets the starting values of the CPU times.
      const counts = us > 0 && !this.#isFirst && (this.#areAll || this.#cpus.includes(stat.lastCpu));
      if (counts && owner) this.#us[owner] += us;
      if (owner !== 'others' || !(counts || known)) continue;
      const name = known ?? programName(stat, this.#root);
      names.set(keyOf(stat), name);
      if (counts) this.#addProgram(name, us);
    }
    this.#names = names;
    this.#isFirst = false;
  }

  #addProgram(name: string, us: number): void {
    const key = this.#programsUs.size < MAX_NAMES || this.#programsUs.has(name) ? name : NAMELESS;
    this.#programsUs.set(key, (this.#programsUs.get(key) ?? 0) + us);
  }

  /**
   * Returns for whom the CPU time of a process counts; undefined for kernel threads whose time counts as interrupts.
   */
  #ownerOf(stat: ProcessStat): Owner | undefined {
    if (this.#ours.has(keyOf(stat))) return 'ours';
    if (stat.pid !== KTHREADD && stat.parent !== KTHREADD) return 'others';
    return SOFT_INTERRUPTS.test(stat.name) ? undefined : 'kernel';
  }
}

const half = (before: number, after: number) => (before + after) / 2;

function keyOf({ pid, startedAtUs }: ProcessStat): string {
  return `${pid} ${startedAtUs}`;
}

function cpusIn(root: string): number {
  const stat = tryOrUndefined(() => readFileSync(join(root, 'proc/stat'), 'utf8'));
  return stat?.match(/^cpu\d/gm)?.length ?? 0;
}

/** Pattern of interpreters. `MainThread` stands for Node, which renames its main thread and with it the process. */
const INTERPRETER = /^((node-)?MainThread|node|deno|bun|python[\d.]*|ruby|perl|java|php|bash|sh)$/;
/** Options with which an interpreter runs code from the command line instead of a script. */
const CODE = /^(-[cep]|--eval|--print)$/;
const MAX_LENGTH = 40;

/**
 * Returns the name of a program such as `chromium`, or of an interpreter with its script such as `node tsc`. Leaves out
 * further arguments, because they may be secret.
 */
export function programName({ pid, name }: Pick<ProcessStat, 'pid' | 'name'>, root: string): string {
  if (!INTERPRETER.test(name)) return name.slice(0, MAX_LENGTH).trim();
  const commandLine = tryOrUndefined(() => readFileSync(join(root, `proc/${pid}/cmdline`), 'utf8')) ?? '';
  const [program = '', ...args] = commandLine.split('\0');
  const code = args.findIndex((arg) => CODE.test(arg));
  // Arguments before the script are options of the interpreter. Arguments after the script are left out.
  const script = args.find((arg, index) => !arg.startsWith('-') && (code < 0 || index < code)) ?? '';
  return [basename(program) || name, basename(script)].join(' ').slice(0, MAX_LENGTH).trim();
}
