/** Counts a server's connections, CPU and messages without product code, from /proc and a listening client. */
import { readdirSync } from 'node:fs';
import { processes, textOf } from './process.ts';

const PERIOD_MS = 200;
/** Idle time before the messages, in milliseconds. */
const IDLE_MS = 5000;
/** Time in milliseconds after which all clients have the last message. */
const SETTLED_MS = 800;

interface Sample {
  atMs: number;
  connections: number;
  cpuUs: number;
}

export class Beside {
  readonly #port: string;
  readonly #samples: Sample[] = [];
  readonly #arrivals: number[] = [];
  readonly #timer: NodeJS.Timeout;

  /** @param url URL of a server on this machine; all its processes have its port in the variable PORT */
  constructor(url: string) {
    this.#port = new URL(url).port;
    this.#timer = setInterval(() => this.#samples.push(this.#sample()), PERIOD_MS);
  }

  onMessage(id: unknown): void {
    if (!String(id).endsWith('-trial')) this.#arrivals.push(Date.now());
  }

  /**
   * @returns the number of connections at the last message (without messages, the maximum), and the CPU of all messages
   * in microseconds, without the idle CPU
   */
  figures() {
    const messages = this.#arrivals.length;
    const peakConnections = Math.max(...this.#samples.map(({ connections }) => connections));
    const full = this.#samples.findLast(({ connections }) => connections === peakConnections)?.atMs ?? 0;
    const [from = full, to = full] = [this.#arrivals[0], this.#arrivals.at(-1)];
    const before = this.#at(from - PERIOD_MS);
    const after = this.#at(to + SETTLED_MS);
    const idle = cpuBetween(this.#at(from - PERIOD_MS - IDLE_MS), before);
    const sending = cpuBetween(before, after);
    return {
      messages,
      connections: this.#at(to).connections,
      messagesCpuUs: sending.us - (idle.us * sending.ms) / idle.ms,
    };
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #at(atMs: number): Sample {
    return this.#samples.findLast((sample) => sample.atMs <= atMs) ?? this.#sample();
  }

  #sample(): Sample {
    const pids = processes().flatMap(({ pid, environment }) => (environment.includes(`PORT=${this.#port}`) ? pid : []));
    return {
      atMs: Date.now(),
      connections: established(Number(this.#port)),
      cpuUs: sum(pids.map(cpuUsOf)),
    };
  }
}

function cpuBetween(from: Sample, to: Sample): { us: number; ms: number } {
  return { us: to.cpuUs - from.cpuUs, ms: to.atMs - from.atMs };
}

/** @returns the number of client connections to the port, from the kernel's table */
function established(port: number): number {
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  const lines = textOf('/proc/net/tcp').trim().split('\n').slice(1);
  return lines
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , to, state]) => to?.endsWith(`:${hex}`) && state === '01').length;
}

/** @returns the CPU time of all threads of a process */
export function cpuUsOf(pid: number): number {
  const tasks = list(`/proc/${pid}/task`);
  return sum(tasks.map((task) => Number(textOf(`/proc/${pid}/task/${task}/schedstat`).split(' ')[0] || 0) / 1000));
}

function list(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function sum(values: number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
