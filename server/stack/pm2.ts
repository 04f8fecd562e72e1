/** The Socket.IO workers of a stack, which PM2 starts, lists and restarts. */
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { CapacityError } from '../../protocol/errors.ts';
import { logTail } from './logs.ts';
import { daemonAnswers, runPm2 } from './pm2-command.ts';
import { startDaemon } from './pm2-daemon.ts';
import type { ProcessRef } from './state/processes.ts';
import type { StackState } from './state/state.ts';

const ECOSYSTEM = join(import.meta.dirname, '../../ecosystem.config.js');

interface WorkerOptions {
  /** Path of the Node that runs them. */
  node: string;
  compression?: boolean | undefined;
  signal: AbortSignal;
}

/**
 * Starts the daemon and all workers of the state; resolves when each has reported that it is ready, or failed to.
 * @param onDaemon called with the daemon in the turn in which it begins to exist
 * @throws CapacityError `START_FAILED`, or the signal's reason
 */
export async function startWorkers(
  { pm2Home, workers, token, redisUrl, logDir }: StackState,
  { node, compression = false, signal }: WorkerOptions,
  onDaemon: (daemon: ProcessRef) => void,
): Promise<Pm2Worker[]> {
  // PM2 would sample the host every 30 s, which would show in the measurements.
  writeFileSync(join(pm2Home, 'module_conf.json'), JSON.stringify({ pm2: { sysmonit: 'false' } }));
  await startDaemon(pm2Home, signal, onDaemon);
  const env = {
    // What ecosystem.config.js reads.
    STACK_PORTS: workers.map(({ port }) => port).join(),
    STACK_CONTROL_PORTS: workers.map(({ controlUrl }) => new URL(controlUrl).port).join(),
    STACK_TOKEN: token,
    STACK_REDIS_URL: redisUrl,
    STACK_LOG_DIR: logDir,
    STACK_NODE: node,
    // Workers have another working directory.
    ...(process.env.CAPACITY_MODULES && { CAPACITY_MODULES: resolve(process.env.CAPACITY_MODULES) }),
    CAPACITY_PER_MESSAGE_DEFLATE: process.env.CAPACITY_PER_MESSAGE_DEFLATE ?? (compression ? 'on' : undefined),
    // The user's Redis can serve other programs, too; the prefix keeps our rooms apart from theirs.
    CAPACITY_REDIS_PREFIX: process.env.CAPACITY_REDIS_PREFIX ?? `capacity-${randomBytes(6).toString('hex')}`,
  };
  await runPm2(pm2Home, ['start', ECOSYSTEM], { env, signal });
  const started = await listWorkers(pm2Home);
  if (started.length === workers.length) return started;
  throw new CapacityError(
    'START_FAILED',
    `PM2 has ${started.length} of ${workers.length} workers:\n${logTail(join(pm2Home, 'pm2.log'))}`,
    'Correct what the lines above, which are PM2’s own, report.',
  );
}

const workerSchema = z
  .object({
    name: z.string(),
    /** 0 while there is no process. */
    pid: z.number().default(0),
    /** The status as PM2 names it: `online`, `launching`, `waiting restart`, `errored`, … */
    pm2_env: z.object({ status: z.string(), restart_time: z.number() }),
  })
  .transform(({ name: id, pid, pm2_env: { status, restart_time: restarts } }) => ({ id, pid, restarts, status }));
export type Pm2Worker = z.infer<typeof workerSchema>;

/** @returns none without a daemon @throws CapacityError `START_FAILED` */
export async function listWorkers(pm2Home: string): Promise<Pm2Worker[]> {
  if (!(await daemonAnswers(pm2Home))) return [];
  const output = await runPm2(pm2Home, ['jlist']);
  return z.array(workerSchema).parse(JSON.parse(output.slice(output.indexOf('['))));
}

/** As a deploy does, with PM2's own parallelism. @throws CapacityError `START_FAILED` */
export async function reloadWorkers(pm2Home: string): Promise<void> {
  await runPm2(pm2Home, ['reload', 'all']);
}

/** Stops all workers, then the daemon. @throws CapacityError `START_FAILED`, also if there is none */
export async function stopPm2(pm2Home: string): Promise<void> {
  // All at once, as each worker can take a while to close its connections.
  await runPm2(pm2Home, ['kill'], { env: { PM2_CONCURRENT_ACTIONS: '64' } });
}
