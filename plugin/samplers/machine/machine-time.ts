/**
 * Who used the CPUs of this machine: deployment and generator, other programs, the kernel, and the hypervisor, which gave them
 * to somebody else. The sum of them is the busy time, but for what no process table shows.
 */
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { attempt } from '../../../protocol/base/attempt.ts';
import { type PressureReading, readCpu, readPressure } from '../../../protocol/base/machine/kernel.ts';
import { allowedCpus } from '../../../protocol/base/machine/usable.ts';
import { CpuIncrements } from '../processes/cpu-increments.ts';
import type { ProcessStat } from '../processes/proc.ts';
import {
  type ProcessTable,
  processTable,
  readProcessTableInSlices,
  withDescendants,
} from '../processes/process-table.ts';

/** Totals, whose differences are meaningful. Of the CPUs that this process may run on. */
export interface MachineTotals {
  atMs: number;
  cores: number;
  busyUs: number;
  /** What the hypervisor gave to others. */
  stealUs: number;
  interruptUs: number;
  /** Undefined where the kernel does not tell. */
  pressure: PressureReading | undefined;
  /** Undefined where it is not known which processes are ours. */
  processes: ProcessTotals | undefined;
}

export interface ProcessTotals {
  /** CPU of generator and deployment. */
  oursUs: number;
  /** CPU of the kernel's own threads. */
  kernelUs: number;
  /** CPU of all other programs, and by name. */
  othersUs: number;
  programsUs: ReadonlyMap<string, number>;
}

/** Parent of the kernel's threads. */
const KTHREADD = 2;
/** Its time is that of interrupts already. */
const SOFT_INTERRUPTS = /^ksoftirqd\//;
/** Further programs together: each takes little. */
const MAX_NAMES = 200;
const NAMELESS = 'others';

type Owner = 'ours' | 'kernel' | 'others';

export class MachineTime {
  readonly #root: string;
  readonly #readTable: () => Promise<ProcessTable>;
  readonly #cpus: number[];
  readonly #areAll: boolean;
  readonly #increments = new CpuIncrements();
  /** By pid and start: those that are ours, and the names of others. */
  #ours = new Set<string>();
  #names = new Map<string, string>();
  #isFirst = true;
  readonly #us: Record<Owner, number> = { ours: 0, kernel: 0, others: 0 };
  readonly #programsUs = new Map<string, number>();
  /** Readings follow each other. */
  #previous: Promise<unknown> = Promise.resolve();

  /** @param root of the file system, for tests */
  constructor(root = '/') {
    this.#root = root;
    // Others use what has just been read, too.
    this.#readTable = root === '/' ? () => processTable(0) : () => readProcessTableInSlices(root);
    this.#cpus = allowedCpus(root);
    this.#areAll = this.#cpus.length >= cpusIn(root);
  }

  /**
   * Some milliseconds for hundreds of processes.
   * @param roots of generator and deployment: what they have started is theirs; undefined if they are not known
   * @throws Error with the reason where the kernel does not tell
   */
  read(roots: number[] | undefined): Promise<MachineTotals> {
    const reading = this.#previous.then(() => this.#read(roots));
    this.#previous = reading.catch(() => {});
    return reading;
  }

  async #read(roots: number[] | undefined): Promise<MachineTotals> {
    const table = roots && (await this.#readTable());
    const { busyUs, stealUs, interruptUs } = readCpu(this.#areAll ? undefined : this.#cpus, this.#root);
    const atMs = performance.now();
    if (roots && table) this.#note(table, withDescendants(roots, table));
    const { ours: oursUs, kernel: kernelUs, others: othersUs } = this.#us;
    return {
      atMs,
      cores: this.#cpus.length,
      busyUs,
      stealUs,
      interruptUs,
      pressure: readPressure(this.#root),
      processes: table && { oursUs, kernelUs, othersUs, programsUs: new Map(this.#programsUs) },
    };
  }

  /** Who has been ours stays so, also when what has started it has ended. */
  #note(table: ProcessTable, ours: Set<number>): void {
    const increments = this.#increments.add(table, () => true);
    const mine = [...table.values()].filter((stat) => ours.has(stat.pid) || this.#ours.has(keyOf(stat)));
    this.#ours = new Set(mine.map(keyOf));
    const names = new Map<string, string>();
    for (const stat of table.values()) {
      const us = increments.get(stat.pid) ?? 0;
      const owner = this.#ownerOf(stat);
      const known = this.#names.get(keyOf(stat));
      // Before the first reading, nobody looked.
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

  /** @returns undefined for what is counted elsewhere */
  #ownerOf(stat: ProcessStat): Owner | undefined {
    if (this.#ours.has(keyOf(stat))) return 'ours';
    if (stat.pid !== KTHREADD && stat.parent !== KTHREADD) return 'others';
    return SOFT_INTERRUPTS.test(stat.name) ? undefined : 'kernel';
  }
}

function keyOf({ pid, startedAtUs }: ProcessStat): string {
  return `${pid} ${startedAtUs}`;
}

function cpusIn(root: string): number {
  const stat = attempt(() => readFileSync(join(root, 'proc/stat'), 'latin1'));
  return stat?.match(/^cpu\d/gm)?.length ?? 0;
}

/** Node names its main thread, and so its process, itself. */
const INTERPRETER = /^((node-)?MainThread|node|deno|bun|python[\d.]*|ruby|perl|java|php|bash|sh)$/;
/** In place of a script. */
const CODE = /^(-[cep]|--eval|--print)$/;
const MAX_LENGTH = 40;

/**
 * What people call a program: of an interpreter's process, its script, too.
 * @returns e.g. `chromium`, `node tsc`; of a command line, only the names of program and script: others can be secrets
 */
export function programName({ pid, name }: Pick<ProcessStat, 'pid' | 'name'>, root: string): string {
  if (!INTERPRETER.test(name)) return name.slice(0, MAX_LENGTH).trim();
  const commandLine = attempt(() => readFileSync(join(root, `proc/${pid}/cmdline`), 'utf8')) ?? '';
  const [program = '', ...others] = commandLine.split('\0');
  const code = others.findIndex((one) => CODE.test(one));
  // What stands before the script are options of the interpreter; what stands behind it is nobody's business.
  const script = others.find((one, index) => !one.startsWith('-') && (code < 0 || index < code)) ?? '';
  return [basename(program) || name, basename(script)].join(' ').slice(0, MAX_LENGTH).trim();
}
