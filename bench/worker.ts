/** Starts a bundled Socket.IO worker in a separate process, without a proxy, and connects to its control namespace. */
import { fork } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { ControlClients } from '../plugin/samplers/control/control-workers.ts';
import { onlyOnce } from '../protocol/base/only-once.ts';
import { stopChildProcess } from '../protocol/base/stop-child-process.ts';
import type { WorkerStats } from '../protocol/wire/events.ts';
import { findFreePorts } from '../server/stack/ports.ts';
import { firstMessage } from './wait-for-message.ts';

const ROOM = 'capacity';
export const BENCH_TOKEN = 'token-of-the-bench';
/**
 * Ping interval in milliseconds. The idle window and the broadcast window have the same length, so that each connection
 * is pinged once in each window.
 */
export const PING_INTERVAL_MS = 5000;
/** Milliseconds at the end of the broadcast window for the last receipts. */
const LAST_MS = 500;
const CLOSE_TIMEOUT_MS = 15_000;

export interface BenchBroadcastPlan {
  count: number;
  bytes: number;
}

export interface BenchWorker {
  url: string;
  controlUrl: string;
  pid: number;
  stats(): Promise<WorkerStats>;
  gc(): Promise<void>;
  /** Sends a message to the modules that `execArgv` preloads. */
  tell(message: string): void;
  /**
   * Publishes broadcasts on an absolute schedule, spread over a window that is as long as the idle window. Resolves
   * shortly before the end of the window.
   * @throws Error if fewer than `connections` have joined the room
   */
  publish(plan: BenchBroadcastPlan, connections: number, signal: AbortSignal): Promise<void>;
  /** Closes the worker. A second call does nothing. */
  close(): Promise<void>;
}

/**
 * @param environment variables added to the environment of the bench
 * @param execArgv options of Node
 */
export async function startWorker(
  environment: Record<string, string> = {},
  execArgv: string[] = [],
): Promise<BenchWorker> {
  const [port, controlPort] = await findFreePorts(2);
  const controlUrl = `http://127.0.0.1:${controlPort}`;
  const child = fork(fileURLToPath(new URL('../server/main.ts', import.meta.url)), {
    execArgv: ['--disable-warning=ExperimentalWarning', ...execArgv],
    env: {
      ...process.env,
      CAPACITY_TOKEN: BENCH_TOKEN,
      CAPACITY_PORT: String(port),
      CAPACITY_CONTROL_PORT: String(controlPort),
      CAPACITY_PING_INTERVAL_MS: String(PING_INTERVAL_MS),
      // The ping timeout is long, because a generator at its limit replies to pings slowly.
      CAPACITY_PING_TIMEOUT_MS: '60000',
      ...environment,
    },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  let control: ControlClients;
  try {
    await firstMessage(child, 'the worker');
    control = await ControlClients.connect([controlUrl], BENCH_TOKEN);
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
  /** First sequence number of the broadcasts. It is far above the numbers of a run's own broadcasts. */
  let seq = 1000;
  return {
    url: `http://127.0.0.1:${port}`,
    controlUrl,
    pid: child.pid as number,
    stats: async () => (await control.stats())[0] as WorkerStats,
    gc: () => control.gc(),
    tell: (message) => child.send(message),
    async publish({ count, bytes }, connections, signal) {
      const startMs = performance.now();
      const until = (atMs: number) => delay(Math.max(0, startMs + atMs - performance.now()), undefined, { signal });
      for (let index = 0; index < count; index++) {
        await until((index * PING_INTERVAL_MS) / count);
        const { expected } = await control.broadcast({ room: ROOM, bytes, seq: ++seq }, 0);
        if ((expected ?? 0) < connections) throw new Error(`only ${expected} of ${connections} have joined the room`);
      }
      await until(PING_INTERVAL_MS - LAST_MS);
    },
    close: onlyOnce(async () => {
      control.close();
      await stopChildProcess(child, () => child.kill('SIGTERM'), CLOSE_TIMEOUT_MS);
    }),
  };
}
