/** A count of what a server holds, costs and sends, from /proc and a client that listens: none of the product's code. */
import { readdirSync } from 'node:fs';
import { processes, textOf } from './process.ts';

/** Memory pages of Linux on x86 and most ARM machines. */
const PAGE_BYTES = 4096;
const PERIOD_MS = 200;
/** Of the hold, before the messages. */
const IDLE_MS = 5000;
/** Until the last message is with everybody. */
const SETTLED_MS = 800;

interface Sample {
  atMs: number;
  connections: number;
  rssBytes: number;
  cpuUs: number;
}

export class Beside {
  readonly #port: string;
  readonly #samples: Sample[] = [];
  readonly #arrivals: number[] = [];
  readonly #timer: NodeJS.Timeout;

  /** @param url of a server on this machine that has its port from the variable PORT, with all its processes */
  constructor(url: string) {
    this.#port = new URL(url).port;
    this.#timer = setInterval(() => this.#samples.push(this.#sample()), PERIOD_MS);
  }

  onMessage(id: unknown): void {
    if (!String(id).endsWith('-trial')) this.#arrivals.push(Date.now());
  }

  /**
   * @param half as many connections as before the messages
   * @returns connections when the last message came, or the most if none did; memory per connection, from half of them to all;
   *   what all messages cost beyond the idle seconds before them, in CPU microseconds
   */
  figures(half: number) {
    const messages = this.#arrivals.length;
    const most = Math.max(...this.#samples.map(({ connections }) => connections));
    const full = this.#samples.findLast(({ connections }) => connections === most)?.atMs ?? 0;
    const [from = full, to = full] = [this.#arrivals[0], this.#arrivals.at(-1)];
    const before = this.#at(from - PERIOD_MS);
    const after = this.#at(to + SETTLED_MS);
    const idle = cpuBetween(this.#at(from - PERIOD_MS - IDLE_MS), before);
    const sending = cpuBetween(before, after);
    const fewer = this.#samples.findLast(({ atMs, connections }) => atMs < from && connections <= half);
    const grown = before.rssBytes - (fewer?.rssBytes ?? 0);
    return {
      messages,
      connections: this.#at(to).connections,
      bytesPerConnection: grown / (before.connections - (fewer?.connections ?? 0)),
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
      rssBytes: sum(pids.map((pid) => PAGE_BYTES * Number(textOf(`/proc/${pid}/statm`).split(' ')[1] ?? 0))),
      cpuUs: sum(pids.map(cpuUsOf)),
    };
  }
}

function cpuBetween(one: Sample, other: Sample): { us: number; ms: number } {
  return { us: other.cpuUs - one.cpuUs, ms: other.atMs - one.atMs };
}

/** @returns connections of clients to the port, by the kernel's own table */
function established(port: number): number {
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  const lines = textOf('/proc/net/tcp').trim().split('\n').slice(1);
  return lines
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , to, state]) => to?.endsWith(`:${hex}`) && state === '01').length;
}

/** Of all its threads. */
function cpuUsOf(pid: number): number {
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
