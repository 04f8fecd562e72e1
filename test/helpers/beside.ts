/** Independent count of a server's connections, costs and messages, from /proc and a listening client, without product code. */
import { readdirSync } from 'node:fs';
import { processes, textOf } from './process.ts';

const PERIOD_MS = 200;
/** Idle time of the hold before the messages. */
const IDLE_MS = 5000;
/** Time until all clients have the last message. */
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

  /** @param url of a server on this machine whose processes all have its port in the variable PORT */
  constructor(url: string) {
    this.#port = new URL(url).port;
    this.#timer = setInterval(() => this.#samples.push(this.#sample()), PERIOD_MS);
  }

  onMessage(id: unknown): void {
    if (!String(id).endsWith('-trial')) this.#arrivals.push(Date.now());
  }

  /**
   * @returns the connections at the last message (or the most, without messages); the CPU microseconds of all messages, less those of the
   * idle time before
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

/** @returns client connections to the port, from the kernel's table */
function established(port: number): number {
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  const lines = textOf('/proc/net/tcp').trim().split('\n').slice(1);
  return lines
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , to, state]) => to?.endsWith(`:${hex}`) && state === '01').length;
}

/** @returns the CPU time of all threads */
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
