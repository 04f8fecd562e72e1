/**
 * PM2 with its own home, so that no other PM2 of this user is affected. It is controlled through its command line,
 * because its library would add its clients and signal handlers to our process.
 */
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { execa } from 'execa';
import { z } from 'zod';
import { CapacityError } from '../../protocol/errors.ts';
import { attempt } from '../../protocol/helpers/attempt.ts';
import { logTail } from './logs.ts';
import { type ProcessRef, processRef } from './state/processes.ts';
import type { StackState } from './state/state.ts';

const ECOSYSTEM = join(import.meta.dirname, '../../ecosystem.config.js');

export function hasPm2(): boolean {
  return attempt(requirePm2) !== undefined;
}

/**
 * Only our own stack needs PM2, so users who measure their own server need not install it.
 * @returns the path of its start script
 * @throws CapacityError `NOT_INSTALLED`
 */
export function requirePm2(): string {
  try {
    return createRequire(import.meta.url).resolve('pm2/bin/pm2');
  } catch (cause) {
    const message = 'pm2, which runs the Socket.IO workers of the stack, is not installed.';
    throw new CapacityError('NOT_INSTALLED', message, 'npm install pm2', { cause });
  }
}

/**
 * Starts the daemon and all workers of the state; resolves when each has reported that it is ready, or failed to.
 * @param node path of the Node that runs them
 * @throws CapacityError `START_FAILED`
 */
export async function startWorkers(
  { pm2Home, workers, token, redisUrl, logDir }: StackState,
  node: string,
  compression = false,
): Promise<Pm2Worker[]> {
  // PM2 would sample the host every 30 s, which would show in the measurements.
  writeFileSync(join(pm2Home, 'module_conf.json'), JSON.stringify({ pm2: { sysmonit: 'false' } }));
  await pm2(pm2Home, ['start', ECOSYSTEM], {
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
  });
  return listWorkers(pm2Home);
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

/**
 * @returns none without a daemon: PM2's command line would start another one, wait for it, and leave it behind
 * @throws CapacityError `START_FAILED`
 */
export async function listWorkers(pm2Home: string): Promise<Pm2Worker[]> {
  if (processRef(daemonPid(pm2Home)) === undefined) return [];
  const output = await pm2(pm2Home, ['jlist'], {});
  return z.array(workerSchema).parse(JSON.parse(output.slice(output.indexOf('['))));
}

/** As a deploy does, with PM2's own parallelism. @throws CapacityError `START_FAILED` */
export async function reloadWorkers(pm2Home: string): Promise<void> {
  await pm2(pm2Home, ['reload', 'all'], {});
}

/** Stops all workers, then the daemon. @throws CapacityError `START_FAILED` */
export async function stopPm2(pm2Home: string): Promise<void> {
  // All at once, as each worker can take a while to close its connections.
  await pm2(pm2Home, ['kill'], { PM2_CONCURRENT_ACTIONS: '64' });
}

export function daemonPid(pm2Home: string): number | undefined {
  return pidIn(join(pm2Home, 'pm2.pid'));
}

/**
 * The daemon and workers that run in this home now, including those started since the state was written. Their
 * environment, which only Linux shows, proves that they are PM2's and not later processes with the same pids.
 */
export function pm2Processes(pm2Home: string): ProcessRef[] {
  // None if PM2 did not get that far.
  const pidFiles = attempt(() => readdirSync(join(pm2Home, 'pids'))) ?? [];
  return ['pm2.pid', ...pidFiles.map((file) => join('pids', file))]
    .map((file) => processRef(pidIn(join(pm2Home, file))))
    .filter((ref) => ref !== undefined)
    .filter(({ pid }) => {
      const environment = attempt(() => readFileSync(`/proc/${pid}/environ`, 'latin1'));
      return environment?.split('\0').includes(`PM2_HOME=${pm2Home}`);
    });
}

function pidIn(file: string): number | undefined {
  return attempt(() => Number(readFileSync(file, 'utf8')) || undefined);
}

async function pm2(pm2Home: string, args: string[], env: Record<string, string | undefined>): Promise<string> {
  const { stdout, all, failed } = await execa(process.execPath, [requirePm2(), ...args], {
    all: true,
    reject: false,
    timeout: 120_000,
    extendEnv: false,
    env: {
      ...inheritedEnv(),
      PM2_HOME: pm2Home,
      PM2_DISCRETE_MODE: 'true', // No banner, no "daemon spawned".
      PM2_DISABLE_VERSION_CHECK: 'true', // Sends nothing to npm.
      PM2_NO_INTERACTION: 'true', // No agent to pm2.io.
      ...env,
    },
  });
  if (!failed) return stdout;
  const message = `pm2 ${args[0]} failed:\n${all || logTail(join(pm2Home, 'pm2.log'))}`;
  throw new CapacityError('START_FAILED', message, 'Correct what the lines above, which are PM2’s own, report.');
}

/**
 * Inherited by the workers, without PM2's own variables (this process could run under another PM2) and those that would
 * redirect our workers.
 */
function inheritedEnv(): NodeJS.ProcessEnv {
  const excluded = /^(PM2_|pm_|STACK_|REDIS_URL$|NODE_TEST_CONTEXT$|NODE_APP_INSTANCE$)/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !excluded.test(name)));
}
