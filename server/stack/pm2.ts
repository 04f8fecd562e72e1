/**
 * Runs PM2, which starts, lists, restarts and stops all processes of a stack (ecosystem.config.js). PM2 runs as a
 * command, because its library would add clients and signal handlers to this process. It has its own PM2_HOME, so that
 * the user's PM2 is not affected.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { connect } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { execa } from 'execa';
import { z } from 'zod';
import { tryOrUndefined } from '../../protocol/base/try-or-undefined.ts';
import { CapacityError } from '../../protocol/codes/errors.ts';
import { logTail } from './logs.ts';
import { stackMarkVariables } from './state/marks.ts';
import { processRef } from './state/stack-processes.ts';
import { recordProcess, type StackState } from './state/state.ts';

const ECOSYSTEM = join(import.meta.dirname, '../../ecosystem.config.js');

/** Paths of the programs that PM2 runs. */
export interface StackPrograms {
  node: string;
  redisServer: string | undefined;
  nginx: string | undefined;
}

interface CommandOptions {
  env?: Record<string, string | undefined>;
  /** Signal that aborts the command. */
  signal?: AbortSignal | undefined;
  timeoutMs?: number;
}

/** Timeout that is sufficient for many workers to start or stop one after the other. */
const COMMAND_TIMEOUT_MS = 120_000;
const DAEMON_TIMEOUT_MS = 30_000;

export function hasPm2(): boolean {
  return tryOrUndefined(requirePm2) !== undefined;
}

/**
 * Finds PM2. It is optional, because only the bundled stack needs it.
 * @returns the path of its start script
 * @throws CapacityError `NOT_INSTALLED`
 */
export function requirePm2(): string {
  try {
    return createRequire(import.meta.url).resolve('pm2/bin/pm2');
  } catch (cause) {
    const message = 'pm2 is not installed. It runs the processes of the bundled stack.';
    throw new CapacityError('NOT_INSTALLED', message, 'npm install pm2', { cause });
  }
}

/**
 * Starts the daemon of PM2. The start cannot be aborted: before the daemon writes its pid, an orphaned daemon could not
 * be found.
 * @returns the pid of the daemon
 * @throws CapacityError `START_FAILED`
 */
export async function startPm2Daemon(pm2Home: string): Promise<number | undefined> {
  // Disables PM2's sampling of the host every 30 s, which would show in the measurements.
  writeFileSync(join(pm2Home, 'module_conf.json'), JSON.stringify({ pm2: { sysmonit: 'false' } }));
  await execute(pm2Home, ['ping'], { timeoutMs: DAEMON_TIMEOUT_MS });
  return readPm2DaemonPid(pm2Home);
}

/** Reads the pid of the daemon from its pid file. */
export function readPm2DaemonPid(pm2Home: string): number | undefined {
  return tryOrUndefined(() => Number(readFileSync(join(pm2Home, 'pm2.pid'), 'utf8')) || undefined);
}

export function redisAppName(index: number): string {
  return `redis${index}`;
}

/**
 * Starts apps of the ecosystem file and records them. Resolves when each worker is ready or has failed.
 * @throws CapacityError `START_FAILED`, or the reason of the signal
 */
export async function startPm2Apps(
  state: StackState,
  { node, redisServer, nginx }: StackPrograms,
  names: string[],
  { compression = false, signal }: { compression?: boolean | undefined; signal: AbortSignal },
): Promise<Pm2App[]> {
  const { pm2Home, workers, token, redisUrl, redisNodes } = state;
  const env = {
    // Variables for ecosystem.config.js. The mark identifies the stack's processes.
    STACK_PORTS: workers.map(({ port }) => port).join(),
    STACK_CONTROL_PORTS: workers.map(({ controlUrl }) => new URL(controlUrl).port).join(),
    STACK_TOKEN: token,
    STACK_REDIS_URL: redisUrl,
    STACK_REDIS_SERVER: redisServer,
    STACK_REDIS_NODES: String(redisNodes.length),
    STACK_NGINX: nginx,
    STACK_NODE: node,
    // Makes the path absolute, because the workers have another working directory.
    ...(process.env.CAPACITY_MODULES && { CAPACITY_MODULES: resolve(process.env.CAPACITY_MODULES) }),
    CAPACITY_PER_MESSAGE_DEFLATE: process.env.CAPACITY_PER_MESSAGE_DEFLATE ?? (compression ? 'on' : undefined),
    // Uses a random prefix, because the user's Redis can serve other programs with Socket.IO.
    CAPACITY_REDIS_PREFIX: process.env.CAPACITY_REDIS_PREFIX ?? `capacity-${randomBytes(6).toString('hex')}`,
  };
  await runPm2(pm2Home, ['start', ECOSYSTEM, '--only', names.join()], { env, signal });
  const started = (await recordPm2Apps(state)).filter(({ name }) => names.includes(name));
  if (started.length === names.length) return started;
  throw failed(`PM2 has started only ${started.length} of ${names.join(', ')}`, logTail(join(pm2Home, 'pm2.log')));
}

const appSchema = z
  .object({
    name: z.string(),
    /** Process id; 0 if there is no process. */
    pid: z.number().default(0),
    /** Fields of PM2. `status` is, for example, `online`, `launching`, `waiting restart` or `errored`. */
    pm2_env: z.object({ status: z.string(), restart_time: z.number() }),
  })
  .transform(({ name, pid, pm2_env: { status, restart_time: restarts } }) => ({ name, pid, restarts, status }));
export type Pm2App = z.infer<typeof appSchema>;

/**
 * Records process ids and restarts from PM2's list. Redis and nginx keep their last process id, because PM2 does not
 * restart them by itself.
 * @returns the list; empty if no daemon runs
 * @throws CapacityError `START_FAILED`
 */
export async function recordPm2Apps(state: StackState): Promise<Pm2App[]> {
  const apps = await listPm2Apps(state.pm2Home);
  const find = (name: string) => apps.find((app) => app.name === name);
  const pidOf = (name: string) => recordProcess(state, processRef(find(name)?.pid));
  for (const worker of state.workers) {
    worker.pid = pidOf(worker.id) ?? 0;
    worker.restarts = find(worker.id)?.restarts ?? worker.restarts;
  }
  for (const [index, node] of state.redisNodes.entries()) node.pid = pidOf(redisAppName(index)) ?? node.pid;
  const nginxPid = pidOf('nginx') ?? state.nginxPid;
  if (nginxPid !== undefined) state.nginxPid = nginxPid;
  return apps;
}

/**
 * Returns the apps; empty if no daemon runs.
 * @throws CapacityError `START_FAILED`
 */
export async function listPm2Apps(pm2Home: string): Promise<Pm2App[]> {
  if (!(await daemonAnswers(pm2Home))) return [];
  const output = await runPm2(pm2Home, ['jlist']);
  return z.array(appSchema).parse(JSON.parse(output.slice(output.indexOf('['))));
}

/**
 * Reloads the workers like a deployment of a new version, with PM2's default parallelism.
 * @throws CapacityError `START_FAILED`
 */
export async function reloadWorkers(pm2Home: string): Promise<void> {
  await runPm2(pm2Home, ['reload', 'workers']);
}

/**
 * Restarts all Redis nodes at once.
 * @throws CapacityError `START_FAILED`
 */
export async function restartRedisApps(pm2Home: string): Promise<void> {
  await runPm2(pm2Home, ['restart', 'redis'], { env: { PM2_CONCURRENT_ACTIONS: '64' } });
}

/**
 * Stops all apps at once, then the daemon.
 * @throws CapacityError `START_FAILED`, also if no daemon runs
 */
export async function stopPm2(pm2Home: string): Promise<void> {
  await runPm2(pm2Home, ['kill']);
}

/**
 * Runs a PM2 command if the daemon replies. Otherwise, PM2 would start a new daemon that is missing from the state
 * file.
 * @returns the output
 * @throws CapacityError `START_FAILED`, or the reason of the signal
 */
async function runPm2(pm2Home: string, args: string[], options: CommandOptions = {}): Promise<string> {
  if (await daemonAnswers(pm2Home)) return execute(pm2Home, args, options);
  throw failed(`pm2 ${args[0]} failed`, logTail(join(pm2Home, 'pm2.log')));
}

async function execute(
  pm2Home: string,
  args: string[],
  { env, signal, timeoutMs = COMMAND_TIMEOUT_MS }: CommandOptions,
): Promise<string> {
  const result = await execa(process.execPath, [requirePm2(), ...args], {
    all: true,
    reject: false,
    timeout: timeoutMs,
    extendEnv: false,
    env: { ...pm2Environment(pm2Home), ...env },
    ...(signal && { cancelSignal: signal }),
  });
  if (!result.failed) return result.stdout;
  signal?.throwIfAborted();
  throw failed(`pm2 ${args[0]} failed`, result.all || logTail(join(pm2Home, 'pm2.log')));
}

/** Returns whether a daemon listens in this PM2_HOME. */
async function daemonAnswers(pm2Home: string): Promise<boolean> {
  const socket = connect(join(pm2Home, 'rpc.sock'));
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/**
 * Returns the environment of PM2 and its apps. PM2's own variables are removed, because this process can itself run
 * under PM2. Variables that would change the workers' configuration are removed, too.
 */
function pm2Environment(pm2Home: string): NodeJS.ProcessEnv {
  const excluded = /^(PM2_|pm_|STACK_|REDIS_URL$|NODE_TEST_CONTEXT$|NODE_APP_INSTANCE$)/;
  return {
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !excluded.test(name))),
    ...stackMarkVariables(dirname(pm2Home)),
    PM2_HOME: pm2Home,
    PM2_DISCRETE_MODE: 'true',
    PM2_DISABLE_VERSION_CHECK: 'true', // Disables the version check, which would contact npm.
    PM2_NO_INTERACTION: 'true', // Disables the agent that contacts pm2.io.
  };
}

function failed(problem: string, output: string): CapacityError {
  const fix = 'Correct the errors above, reported by PM2.';
  return new CapacityError('START_FAILED', `${problem}:\n${output}`, fix);
}
