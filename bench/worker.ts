/** One of our Socket.IO workers in a separate process, without proxy, and a connection to its control namespace. */
import { type ChildProcess, fork } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { ControlClients } from '../plugin/samplers/control/workers.ts';
import { endChild } from '../protocol/end-child.ts';
import type { WorkerStats } from '../protocol/events.ts';
import { onlyOnce } from '../protocol/only-once.ts';

export const ROOM = 'capacity';
export const TOKEN = 'token-of-the-bench';
/** Also the length of the idle and the broadcast window, so that each includes one ping of every connection. */
export const PING_INTERVAL_MS = 5000;

const START_TIMEOUT_MS = 15_000;
const CLOSE_TIMEOUT_MS = 15_000;

export class Worker {
  readonly pid: number;
  readonly url: string;
  readonly controlUrl: string;
  readonly #child: ChildProcess;
  readonly #control: ControlClients;
  /** Far from the sequence numbers of a run's own broadcasts. */
  #seq = 1000;

  private constructor(child: ChildProcess, ports: { port: number; controlPort: number }, control: ControlClients) {
    this.pid = child.pid as number;
    this.url = `http://127.0.0.1:${ports.port}`;
    this.controlUrl = controlUrl(ports.controlPort);
    this.#child = child;
    this.#control = control;
  }

  /** @param environment of its process, added to that of the bench @param execArgv for Node */
  static async start(environment: Record<string, string> = {}, execArgv: string[] = []): Promise<Worker> {
    const child = fork(fileURLToPath(new URL('../server/main.ts', import.meta.url)), {
      execArgv: ['--disable-warning=ExperimentalWarning', ...execArgv],
      env: {
        ...process.env,
        CAPACITY_TOKEN: TOKEN,
        CAPACITY_PING_INTERVAL_MS: String(PING_INTERVAL_MS),
        // A generator at its limit is slow to answer, not dead.
        CAPACITY_PING_TIMEOUT_MS: '60000',
        CAPACITY_LOG_LEVEL: 'info',
        ...environment,
      },
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    });
    try {
      const ports = await portsOf(child);
      const control = await ControlClients.connect([controlUrl(ports.controlPort)], TOKEN);
      return new Worker(child, ports, control);
    } catch (error) {
      child.kill('SIGKILL');
      throw error;
    }
  }

  async stats(): Promise<WorkerStats> {
    return (await this.#control.stats())[0] as WorkerStats;
  }

  gc(): Promise<void> {
    return this.#control.gc();
  }

  /** @returns the receivers that the server counted */
  async broadcast(bytes: number): Promise<number> {
    const { expected } = await this.#control.broadcast({ room: ROOM, bytes, seq: ++this.#seq }, 0);
    return expected ?? 0;
  }

  /** Idempotent. */
  readonly close = onlyOnce(async () => {
    this.#control.close();
    await endChild(this.#child, () => this.#child.kill('SIGTERM'), CLOSE_TIMEOUT_MS);
  });
}

/** From the worker's log, as the system chooses both ports. */
async function portsOf(child: ChildProcess): Promise<{ port: number; controlPort: number }> {
  const signal = AbortSignal.timeout(START_TIMEOUT_MS);
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream, signal });
  for await (const line of lines) {
    const entry = JSON.parse(line) as { port?: number; controlPort?: number };
    if (entry.port && entry.controlPort) {
      child.stdout?.resume();
      return { port: entry.port, controlPort: entry.controlPort };
    }
  }
  throw new Error(`the worker did not start (exit code ${child.exitCode})`);
}

function controlUrl(port: number): string {
  return `http://127.0.0.1:${port}`;
}
