/** Starts a stack: files, PM2's daemon, Redis, then workers and nginx. Records the processes in the state. */
import { randomBytes } from 'node:crypto';
import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { CapacityError } from '../../protocol/codes/errors.ts';
import { logTail } from './logs.ts';
import { configureNginx, nginxAnswers, proxyTimeoutSeconds, readPingSettings } from './nginx.ts';
import { planStack, readStackMachine } from './plan.ts';
import { type Pm2App, redisAppName, requirePm2, startPm2Apps, startPm2Daemon } from './pm2.ts';
import { assertPortFree, findFreePorts } from './ports.ts';
import { chooseProfile, type StackProfile } from './profile.ts';
import { assertRedisAnswers, configureRedis, formRedisCluster, planRedis, redisAnswers } from './redis.ts';
import { findServerNode } from './server-node.ts';
import { isRefAlive, processRef } from './state/stack-processes.ts';
import {
  claimStackState,
  type RedisNodeState,
  recordNginxWorkers,
  recordProcess,
  type StackState,
  type WorkerState,
  writeStackState,
} from './state/state.ts';
import { prepareStateDir } from './state/state-dir.ts';
import { requireTool } from './tools.ts';
import { respondsOk, waitUntilTrue } from './wait-for.ts';

export interface StackOptions {
  /** Profile. Default: `full`, or `embedded` if nginx or redis-server is missing. */
  profile?: StackProfile | undefined;
  /** Port of 127.0.0.1 for clients; 0 uses a free port. */
  port: number;
  /** Whether nginx terminates TLS, with a self-signed certificate. Not available for `embedded`. */
  tls?: boolean;
  /** Whether workers compress messages for clients that offer it. An environment variable takes precedence. */
  compression?: boolean | undefined;
  /** Number of planned connections. It determines the number of workers and the limits of nginx. */
  connections: number;
  /** Number of Socket.IO workers. Default: from the machine and the target. Ignored for `embedded`. */
  workers?: number | undefined;
  /** URL of the user's Redis. Default: the stack starts its own. Ignored for `embedded`. */
  redisUrl?: string | undefined;
  /** Number of Redis processes to start: 1 by default, or at least 3 for a Redis Cluster. */
  redisNodes?: number | undefined;
  stateDir: string;
  /** Keeps the stack running until `stack down`, even after its starter has ended. */
  persistent?: boolean;
}

/** Folder of the code that a stack runs. */
export const STACK_CODE_FOLDER = realpathSync(join(import.meta.dirname, '../..'));
const HEALTH_TIMEOUT_MS = 15_000;

/**
 * @param owner process ids for the state; removed at the end if the stack is persistent
 * @param signal aborts at the next step, or a start of apps at once
 * @param onClaim called when the state file is claimed; from then on, the caller must take the stack down
 * @throws CapacityError; the state then lists the processes started so far
 */
export async function bringUpStack(
  options: StackOptions,
  owner: { ownerPid: number | undefined; keeperPid: number },
  signal: AbortSignal,
  onClaim: (state: StackState) => void,
): Promise<StackState> {
  const { stateDir, connections, tls = false } = options;
  const { profile, missing } = chooseProfile(options.profile);
  const plan = planStack({ connections, profile, workers: options.workers }, readStackMachine());
  requirePm2();
  const node = findServerNode();
  const nginx = profile === 'full' ? requireTool('nginx') : undefined;
  const redisServer = profile === 'full' && !options.redisUrl ? requireTool('redis-server') : undefined;
  if (options.port) await assertPortFree(options.port, 'or choose another port: stack up --port 8081, STACK_PORT=8081');
  prepareStateDir(stateDir);
  const redisNodes = redisServer ? (options.redisNodes ?? 1) : 0;
  const [statusPort = 0, anyPort = 0, ...ports] = await findFreePorts(2 + 2 * (plan.workers + redisNodes));
  const [workerPorts, redisPorts] = [ports.slice(0, 2 * plan.workers), ports.slice(2 * plan.workers)];
  const port = options.port || anyPort;
  const workers: WorkerState[] = Array.from({ length: plan.workers }, (_, index) => ({
    id: `w${index}`,
    port: profile === 'embedded' ? port : (workerPorts[2 * index] ?? 0),
    controlUrl: `http://127.0.0.1:${workerPorts[2 * index + 1]}`,
    pid: 0,
    restarts: 0,
  }));
  const state: StackState = {
    version: 1,
    phase: 'starting',
    profile,
    ...(missing.length > 0 && { missing }),
    checkout: STACK_CODE_FOLDER,
    target: `${tls ? 'https' : 'http'}://127.0.0.1:${port}`,
    token: randomBytes(24).toString('base64url'),
    connections,
    workers,
    pm2Home: join(stateDir, 'pm2'),
    ...(redisServer ? planRedis(redisNodes, redisPorts) : { redisNodes: [] }),
    ...(nginx && { nginxStatusUrl: `http://127.0.0.1:${statusPort}/status` }),
    nginxWorkerPids: [],
    logDir: join(stateDir, 'logs'),
    startedAt: new Date().toISOString(),
    startTimes: {},
  };
  state.ownerPid = recordProcess(state, processRef(owner.ownerPid));
  state.keeperPid = recordProcess(state, processRef(owner.keeperPid));
  if (!claimStackState(stateDir, state)) {
    throw new CapacityError('STACK_RUNNING', `A stack is already running from ${stateDir}.`);
  }
  onClaim(state);

  if (redisServer) configureRedis(join(stateDir, 'redis'), state);
  if (profile === 'full' && options.redisUrl) {
    await assertRedisAnswers(options.redisUrl);
    state.redisUrl = options.redisUrl;
  }
  if (nginx) {
    const timeoutSeconds = proxyTimeoutSeconds(readPingSettings(process.env));
    const [dir, { logDir }] = [join(stateDir, 'nginx'), state];
    await configureNginx(nginx, { port, statusPort, tls, timeoutSeconds, plan: plan.nginx, workers, dir, logDir });
  }

  signal.throwIfAborted();
  state.pm2Pid = recordProcess(state, processRef(await startPm2Daemon(state.pm2Home)));
  writeStackState(stateDir, state);

  const start = async (names: string[], answers: (name: string) => Promise<boolean>) => {
    signal.throwIfAborted();
    const programs = { node, redisServer, nginx };
    const apps = await startPm2Apps(state, programs, names, { compression: options.compression, signal });
    writeStackState(stateDir, state);
    await Promise.all(apps.map((app) => assertAnswers(app, () => answers(app.name), state)));
  };
  if (redisServer) {
    const nodes = new Map(state.redisNodes.map((node, index) => [redisAppName(index), node]));
    await start([...nodes.keys()], (name) => redisAnswers(state, nodes.get(name) as RedisNodeState));
    if (nodes.size > 1) await formRedisCluster(state);
  }
  const controlUrls = new Map(workers.map(({ id, controlUrl }) => [id, controlUrl]));
  await start([...controlUrls.keys(), ...(nginx ? ['nginx'] : [])], (name) => {
    const { nginxPid = 0, nginxStatusUrl = '' } = state;
    if (name === 'nginx') return nginxAnswers(nginxPid, nginxStatusUrl, plan.nginx.workers);
    return respondsOk(`${controlUrls.get(name)}/healthz`);
  });
  recordNginxWorkers(state);

  signal.throwIfAborted();
  state.phase = 'up';
  if (options.persistent) {
    delete state.ownerPid;
    delete state.keeperPid;
  }
  writeStackState(stateDir, state);
  return state;
}

/** @throws CapacityError `START_FAILED` with the last lines of the app's log */
async function assertAnswers(app: Pm2App, answers: () => Promise<boolean>, { logDir }: StackState): Promise<void> {
  const { name, status, restarts } = app;
  const process = processRef(app.pid);
  let problem = `is ${status} after ${restarts} restarts`;
  // A worker that PM2 has already restarted would fail again, so it gets no more time.
  if (status === 'online' && restarts === 0 && process) {
    problem = 'does not answer';
    let isUp = false;
    await waitUntilTrue(async () => {
      isUp = await answers();
      return isUp || !isRefAlive(process);
    }, HEALTH_TIMEOUT_MS);
    if (isUp && isRefAlive(process)) return;
  }
  throw new CapacityError(
    'START_FAILED',
    `${name} ${problem}\nThe end of its log:\n${logTail(join(logDir, `${name}.log`))}`,
    'Correct the errors in the log above.',
  );
}
