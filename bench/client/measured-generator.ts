/** A load generator that is measured. It starts and waits before its ramp, and the bench ends it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { readProcessTable, withDescendants } from '../../plugin/samplers/processes/process-table.ts';
import { parseSmapsRollup } from '../../protocol/base/machine/kernel.ts';
import { tryOrUndefined } from '../../protocol/base/try-or-undefined.ts';
import { firstLine } from '../bench-machine.ts';
import type { BenchWorker } from '../worker.ts';
import type { BenchLoad } from './programs/load-program.ts';

export interface StartedGenerator {
  tree: ProcessTree;
  /** Memory before the generator created its virtual users. Set if it creates them before the ramp. */
  startBytes?: number;
  /** Starts the ramp, or waits until the generator starts it. */
  ramp(): Promise<void>;
  /**
   * Ends the generator.
   * @returns the number of received messages; undefined if the generator does not count them
   */
  finish(): Promise<number | undefined>;
  /** Kills all processes of the generator. A second call does nothing. */
  close(): Promise<void>;
}

const READY_TIMEOUT_MS = 120_000;
const END_TIMEOUT_MS = 30_000;

interface Tool {
  command: string;
  version: string[];
  install: string;
}

/** Returns the version of a program; undefined if it is not installed. */
export function toolVersion({ command, version }: Tool): string | undefined {
  const line = firstLine(command, version);
  return line && (/\d+\.[\w.]*/.exec(line)?.[0] ?? line);
}

export interface MeasuredGenerator {
  name: string;
  label: string;
  /** Program that npm does not install. */
  tool?: Tool;
  /** Whether the generator is measured only if `--only` lists it. */
  onRequest?: true;
  /**
   * Starts the generator.
   * @param folder folder for its files
   * @returns when it is ready for its ramp
   */
  start(load: BenchLoad, worker: BenchWorker, folder: string): Promise<StartedGenerator>;
}

export class GeneratorProgram {
  readonly tree: ProcessTree;
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;
  readonly #lines: string[] = [];
  /** Emits `change` when a line arrives or the process ends. */
  readonly #events = new EventEmitter();

  constructor(command: string, args: string[], env: NodeJS.ProcessEnv = process.env, cwd?: string) {
    this.#child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'], env, cwd });
    this.#exited = new Promise((resolve) => this.#child.once('close', resolve));
    this.#exited.then(() => this.#events.emit('change'));
    this.#child.once('error', (error) => this.#lines.push(error.message));
    this.tree = new ProcessTree(this.#child.pid ?? -1);
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      createInterface({ input: stream as NodeJS.ReadableStream }).on('line', (line) => {
        this.#lines.push(line);
        this.#events.emit('change');
      });
    }
    // Ignores write errors after the process has ended, because its end is reported separately.
    this.#child.stdin?.on('error', () => {});
  }

  /**
   * Waits for a line of output.
   * @throws Error with the last output if the process ends or the time is over
   */
  async line(pattern: RegExp, timeoutMs = READY_TIMEOUT_MS): Promise<string> {
    const signal = AbortSignal.timeout(timeoutMs);
    for (;;) {
      const found = this.#lines.find((line) => pattern.test(line));
      if (found !== undefined) return found;
      if (this.hasEnded || signal.aborted) throw new Error(`${pattern} did not appear. ${this.tail()}`);
      await once(this.#events, 'change', { signal }).catch(() => {});
    }
  }

  send(line: string): void {
    this.#child.stdin?.write(`${line}\n`);
  }

  /** Closes the input of the process and waits for its end. */
  async end(): Promise<void> {
    this.#child.stdin?.end();
    const timer = setTimeout(() => this.tree.kill('SIGKILL'), END_TIMEOUT_MS);
    await this.#exited;
    clearTimeout(timer);
  }

  interrupt(): void {
    this.#child.kill('SIGINT');
  }

  async kill(): Promise<void> {
    if (!this.hasEnded) this.tree.kill('SIGKILL');
    await this.#exited;
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null || this.#child.pid === undefined;
  }

  tail(): string {
    return `Its last output: ${this.#lines.slice(-12).join('\n  ')}`;
  }
}

/** Reads CPU time and memory of a process and all its descendants from /proc (Linux). */
export class ProcessTree {
  readonly rootPid: number;
  /** Last known CPU time of each thread. Ended threads are kept, because they still count. */
  readonly #cpuNs = new Map<string, number>();

  constructor(rootPid: number) {
    this.rootPid = rootPid;
  }

  /** Returns the process ids, the root first. A descendant whose parent has ended is not found. */
  pids(): number[] {
    const table = readProcessTable();
    return table.has(this.rootPid) ? [...withDescendants([this.rootPid], table)] : [];
  }

  /** Returns user and system time of all threads since their start. It uses the scheduler's nanosecond counters. */
  cpuUs(): number {
    for (const pid of this.pids()) {
      for (const tid of tryOrUndefined(() => readdirSync(`/proc/${pid}/task`)) ?? []) {
        const ns = tryOrUndefined(() => readFileSync(`/proc/${pid}/task/${tid}/schedstat`, 'latin1'))?.split(' ')[0];
        if (ns !== undefined) this.#cpuNs.set(`${pid} ${tid}`, Number(ns));
      }
    }
    let totalNs = 0;
    for (const ns of this.#cpuNs.values()) totalNs += ns;
    return totalNs / 1000;
  }

  /** Returns the CPU time of the first thread of the root process. For Artillery, this is the thread of the plugin. */
  mainThreadCpuUs(): number {
    const path = `/proc/${this.rootPid}/task/${this.rootPid}/schedstat`;
    return Number(tryOrUndefined(() => readFileSync(path, 'latin1'))?.split(' ')[0] ?? 0) / 1000;
  }

  /** Returns the proportional set size. Pages that several processes share are divided among them. */
  pssBytes(): number {
    return this.pids().reduce((total, pid) => {
      const rollup = tryOrUndefined(() => readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1'));
      return total + ((rollup && parseSmapsRollup(rollup)?.pssBytes) || 0);
    }, 0);
  }

  kill(signal: NodeJS.Signals): void {
    // The process may have ended in the meantime.
    for (const pid of this.pids()) tryOrUndefined(() => process.kill(pid, signal));
  }
}
