/** A folder like /proc of a machine with two CPUs. The test sets processes and ticks. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { MachineTime, type MachineTotals } from '../../plugin/samplers/machine/machine-time.ts';
import { fileTree } from './file-tree.ts';

export interface Fake {
  name: string;
  parent?: number;
  startedAt?: number;
  /** CPU time of the process and, in `reaped`, of its ended children, in ticks. */
  own: number;
  reaped?: number;
  state?: string;
  cpu?: number;
}

export const GENERATOR = 10;
export const SERVER = 20;

export class FakeMachine {
  readonly root: string;
  readonly #time: MachineTime;

  constructor(t: TestContext, files: Record<string, string> = {}) {
    this.root = fileTree(t, {
      'proc/self/status': 'Cpus_allowed_list:\t0-1\n',
      'proc/stat': 'cpu0 0\ncpu1 0\n',
      ...files,
    });
    this.#time = new MachineTime(this.root);
  }

  /** Sets processes, and the ticks of both CPUs together. Each CPU gets half of them. */
  set(processes: Record<number, Fake>, { user = 0, steal = 0, softirq = 0, idle = 0 } = {}): this {
    rmSync(join(this.root, 'proc'), { recursive: true });
    this.#write('self/status', 'Cpus_allowed_list:\t0-1\n');
    const row = (share: number) =>
      [user, 0, 0, idle, 0, 0, softirq, steal, 0, 0].map((ticks) => ticks * share).join(' ');
    this.#write('stat', `cpu  ${row(1)}\ncpu0 ${row(0.5)}\ncpu1 ${row(0.5)}\n`);
    for (const [pid, entry] of Object.entries(processes)) this.#write(`${pid}/stat`, statOf(Number(pid), entry));
    return this;
  }

  write(path: string, text: string): this {
    this.#write(path, text);
    return this;
  }

  /** @param roots process ids whose descendants belong to the run; null if unknown */
  read(roots: number[] | null = [GENERATOR, SERVER]): Promise<MachineTotals> {
    return this.#time.read(roots ?? undefined);
  }

  #write(path: string, text: string): void {
    mkdirSync(join(this.root, 'proc', path, '..'), { recursive: true });
    writeFileSync(join(this.root, 'proc', path), text);
  }
}

function statOf(pid: number, { name, parent = 1, startedAt = 5, own, reaped = 0, state = 'S', cpu = 0 }: Fake): string {
  const fields = Array.from({ length: 52 }, () => 0 as number | string);
  Object.assign(fields, { 3: parent, 13: own, 15: reaped, 21: startedAt, 38: cpu });
  return `${pid} (${name}) ${state} ${fields.slice(3).join(' ')}\n`;
}
