/** A generator process under measurement: it starts, waits before its ramp, and is ended by the bench. */
import { type ChildProcess, spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { readProcessTable, withDescendants } from '../../plugin/samplers/processes/process-table.ts';
import { attempt } from '../../protocol/base/attempt.ts';
import { parseSmapsRollup } from '../../protocol/base/machine/kernel.ts';
import { firstLine } from '../bench-machine.ts';
import type { Worker } from '../worker.ts';
import type { Load } from './programs/load-program.ts';

export interface Started {
  tree: ProcessTree;
  /** Memory before the generator created its virtual users, if it creates them before the ramp. */
  startBytes?: number;
  /** Starts the ramp, or waits until it starts by itself. */
  ramp(): Promise<void>;
  /** Ends the generator. @returns the number of received messages; undefined if it does not count them */
  finish(): Promise<number | undefined>;
  /** Kills all processes of the generator. Idempotent. */
  close(): Promise<void>;
}

const READY_TIMEOUT_MS = 120_000;
const END_TIMEOUT_MS = 30_000;

interface Tool {
  command: string;
  version: string[];
  install: string;
}

/** Returns the tool's version; undefined if it is not installed. */
export function versionOf({ command, version }: Tool): string | undefined {
  const line = firstLine(command, version);
  return line && (/\d+\.[\w.]*/.exec(line)?.[0] ?? line);
}

export interface Generator {
  name: string;
  label: string;
  /** A program that npm does not install. */
  tool?: Tool;
  /** Measured only if `--only` lists it. */
  onRequest?: true;
  /** @param folder folder for its files @returns once it is ready for its ramp */
  start(load: Load, worker: Worker, folder: string): Promise<Started>;
}

export class Program {
  readonly tree: ProcessTree;
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;
  readonly #lines: string[] = [];
  /** Emitter of `change`, when a line arrives or the process ends. */
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
    // Ignores write errors after the process has ended, which is reported as its end.
    this.#child.stdin?.on('error', () => {});
  }

  /** Waits for a line of output. @throws Error with the last output if the process ends or times out first */
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

  /** Closes the process's input and waits for its end. */
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
  /** Last known CPU time by thread. Ended threads are kept, so that they still count. */
  readonly #cpuNs = new Map<string, number>();

  constructor(rootPid: number) {
    this.rootPid = rootPid;
  }

  /** Returns the pids, root first. Descendants whose parent has ended are not found. */
  pids(): number[] {
    const table = readProcessTable();
    return table.has(this.rootPid) ? [...withDescendants([this.rootPid], table)] : [];
  }

  /** Returns user and system time of all threads since their start, from the scheduler's nanosecond counters. */
  cpuUs(): number {
    for (const pid of this.pids()) {
      for (const tid of attempt(() => readdirSync(`/proc/${pid}/task`)) ?? []) {
        const ns = attempt(() => readFileSync(`/proc/${pid}/task/${tid}/schedstat`, 'latin1'))?.split(' ')[0];
        if (ns !== undefined) this.#cpuNs.set(`${pid} ${tid}`, Number(ns));
      }
    }
    let totalNs = 0;
    for (const ns of this.#cpuNs.values()) totalNs += ns;
    return totalNs / 1000;
  }

  /** Returns the proportional set size: pages shared by several processes are divided among them. */
  pssBytes(): number {
    return this.pids().reduce((total, pid) => {
      const rollup = attempt(() => readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1'));
      return total + ((rollup && parseSmapsRollup(rollup)?.pssBytes) || 0);
    }, 0);
  }

  kill(signal: NodeJS.Signals): void {
    // The process may have ended meanwhile.
    for (const pid of this.pids()) attempt(() => process.kill(pid, signal));
  }
}
