/** A generator under measurement: started as a process, ready before its ramp, ended by the bench. */
import { type ChildProcess, spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { createInterface } from 'node:readline';
import { firstLine } from '../bench-machine.ts';
import { ProcessTree } from '../bench-processes.ts';
import type { Worker } from '../worker.ts';
import type { Load } from './programs/load-program.ts';

export interface Started {
  tree: ProcessTree;
  /** Memory before it made its virtual users, if it makes them before the ramp. */
  startBytes?: number;
  /** Starts the ramp, or waits until it starts by itself. */
  ramp(): Promise<void>;
  /** Ends the generator. @returns the messages that it received; undefined if it does not count them */
  finish(): Promise<number | undefined>;
  /** Kills it with all its processes. Idempotent. */
  close(): Promise<void>;
}

const READY_TIMEOUT_MS = 60_000;
const END_TIMEOUT_MS = 30_000;

interface Tool {
  command: string;
  version: string[];
  install: string;
}

/** @returns undefined if it is not installed */
export function versionOf({ command, version }: Tool): string | undefined {
  const line = firstLine(command, version);
  return line && (/\d+\.[\w.]*/.exec(line)?.[0] ?? line);
}

export interface Generator {
  name: string;
  label: string;
  /** A program that npm does not install. */
  tool?: Tool;
  /** Measured only by `--only`. */
  onRequest?: true;
  /** @param folder for its files @returns when it is ready to ramp up */
  start(load: Load, worker: Worker, folder: string): Promise<Started>;
}

export class Program {
  readonly tree: ProcessTree;
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;
  readonly #lines: string[] = [];
  /** `change`: a line has come, or it has ended. */
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
    // It can end before a line is sent to it, which is reported as its end.
    this.#child.stdin?.on('error', () => {});
  }

  /** @throws Error with its last output, if it ends or the time is up first */
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

  /** Closes its input and waits until it has ended. */
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
