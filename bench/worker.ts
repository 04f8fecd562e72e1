/** One of our Socket.IO workers in a separate process, without proxy, and a connection to its control namespace. */
import { fork } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { ControlClients } from '../plugin/samplers/control/control-workers.ts';
import { endChild } from '../protocol/base/end-child.ts';
import { onlyOnce } from '../protocol/base/only-once.ts';
import type { WorkerStats } from '../protocol/wire/events.ts';
import { freePorts } from '../server/stack/ports.ts';
import { firstMessage } from './wait-for-message.ts';

const ROOM = 'capacity';
export const TOKEN = 'token-of-the-bench';
/** Also the length of the idle and the broadcast window, so that each includes one ping of every connection. */
export const PING_INTERVAL_MS = 5000;
/** End of the broadcast window, reserved for the last receipts. */
const LAST_MS = 500;
const CLOSE_TIMEOUT_MS = 15_000;

export interface BroadcastPlan {
  count: number;
  bytes: number;
}

export interface Worker {
  url: string;
  controlUrl: string;
  stats(): Promise<WorkerStats>;
  gc(): Promise<void>;
  /**
   * Broadcasts on an absolute schedule, spread over the same time as an idle window; resolves shortly before that time is over.
   * @throws Error when fewer than `connections` are members of the room
   */
  publish(plan: BroadcastPlan, connections: number, signal: AbortSignal): Promise<void>;
  /** Idempotent. */
  close(): Promise<void>;
}

/** @param environment of its process, added to that of the bench @param execArgv for Node */
export async function startWorker(environment: Record<string, string> = {}, execArgv: string[] = []): Promise<Worker> {
  const [port, controlPort] = await freePorts(2);
  const controlUrl = `http://127.0.0.1:${controlPort}`;
  const child = fork(fileURLToPath(new URL('../server/main.ts', import.meta.url)), {
    execArgv: ['--disable-warning=ExperimentalWarning', ...execArgv],
    env: {
      ...process.env,
      CAPACITY_TOKEN: TOKEN,
      CAPACITY_PORT: String(port),
      CAPACITY_CONTROL_PORT: String(controlPort),
      CAPACITY_PING_INTERVAL_MS: String(PING_INTERVAL_MS),
      // A generator at its limit is slow to answer, not dead.
      CAPACITY_PING_TIMEOUT_MS: '60000',
      ...environment,
    },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  let control: ControlClients;
  try {
    await firstMessage(child, 'the worker');
    control = await ControlClients.connect([controlUrl], TOKEN);
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
  /** Far from the sequence numbers of a run's own broadcasts. */
  let seq = 1000;
  return {
    url: `http://127.0.0.1:${port}`,
    controlUrl,
    stats: async () => (await control.stats())[0] as WorkerStats,
    gc: () => control.gc(),
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
      await endChild(child, () => child.kill('SIGTERM'), CLOSE_TIMEOUT_MS);
    }),
  };
}
