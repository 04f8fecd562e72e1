/** Brings a stack up, process by process, and records each in the state before the next one starts. */
import { randomBytes } from 'node:crypto';
import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { CapacityError } from '../../protocol/errors.ts';
import { logTail } from './logs.ts';
import { pingOf, proxyTimeoutSeconds, startNginx, statusUrl } from './nginx.ts';
import { planStack, readMachine } from './plan.ts';
import { type Pm2Worker, startWorkers } from './pm2.ts';
import { requirePm2 } from './pm2-command.ts';
import { assertFree, freePorts } from './ports.ts';
import { chooseProfile, type Profile } from './profile.ts';
import { assertRedisAnswers, startOwnRedis } from './redis.ts';
import { serverNode } from './server-node.ts';
import { isWell, waitFor } from './server-process.ts';
import { type ProcessRef, processRef } from './state/processes.ts';
import {
  claimState,
  recordNginxWorkers,
  remember,
  type StackState,
  type WorkerState,
  writeState,
} from './state/state.ts';
import { prepareStateDir } from './state/state-dir.ts';
import { requireTool } from './tools.ts';

export interface StackOptions {
  /** Undefined: `full`, or `embedded` where nginx or redis-server is missing. */
  profile?: Profile | undefined;
  /** Where clients connect, on 127.0.0.1; 0 takes any free port. */
  port: number;
  /** nginx terminates TLS, with a certificate of its own. Not available when embedded. */
  tls?: boolean;
  /** The workers compress for clients that offer it, unless the environment says otherwise. */
  compression?: boolean | undefined;
  /** Connections to plan for: determines the number of workers and nginx's limits. */
  connections: number;
  /** Number of Socket.IO workers; by default it follows from the machine and the target. Ignored when embedded. */
  workers?: number | undefined;
  /** A Redis to use; undefined starts one. Ignored when embedded. */
  redisUrl?: string | undefined;
  /** Redis processes to start: 1, or from 3 on the nodes of a Redis Cluster. Default: 1. */
  redisNodes?: number | undefined;
  stateDir: string;
  /** Stays up until `stack down`, instead of ending with the process that started it. */
  persistent?: boolean;
}

/** Identifies the code whose processes a stack has. */
export const CHECKOUT = realpathSync(join(import.meta.dirname, '../..'));
const HEALTH_TIMEOUT_MS = 15_000;

/**
 * @param owner pids to record in the state; both are absent in that of a persistent stack
 * @param signal stops between two steps, and the start of the workers
 * @param onClaim called once the state file is claimed; from then on the caller has to take the stack down
 * @throws CapacityError; the state names what was started until then
 */
export async function bringUp(
  options: StackOptions,
  owner: { ownerPid: number | undefined; keeperPid: number },
  signal: AbortSignal,
  onClaim: (state: StackState) => void,
): Promise<StackState> {
  const { stateDir, connections, tls = false } = options;
  const { profile, missing } = chooseProfile(options.profile);
  const plan = planStack({ connections, profile, workers: options.workers }, await readMachine());
  requirePm2();
  const node = serverNode();
  const nginx = profile === 'full' ? requireTool('nginx') : undefined;
  const redisServer = profile === 'full' && !options.redisUrl ? requireTool('redis-server') : undefined;
  if (options.port) await assertFree(options.port, 'or choose another port: stack up --port 8081, STACK_PORT=8081');
  prepareStateDir(stateDir);
  const logDir = join(stateDir, 'logs');

  const [statusPort = 0, anyPort = 0, ...workerPorts] = await freePorts(2 + 2 * plan.workers);
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
    checkout: CHECKOUT,
    target: `${tls ? 'https' : 'http'}://127.0.0.1:${port}`,
    token: randomBytes(24).toString('base64url'),
    connections,
    workers,
    pm2Home: join(stateDir, 'pm2'),
    redisNodes: [],
    nginxWorkerPids: [],
    logDir,
    startedAt: new Date().toISOString(),
    startTimes: {},
  };
  state.ownerPid = remember(state, processRef(owner.ownerPid));
  state.keeperPid = remember(state, processRef(owner.keeperPid));
  if (!claimState(stateDir, state)) {
    throw new CapacityError('STACK_RUNNING', `A stack is already running from ${stateDir}.`);
  }
  onClaim(state);

  signal.throwIfAborted();
  if (redisServer) {
    await startOwnRedis(redisServer, options.redisNodes ?? 1, stateDir, state, () => writeState(stateDir, state));
  } else if (profile === 'full' && options.redisUrl) {
    await assertRedisAnswers(options.redisUrl);
    state.redisUrl = options.redisUrl;
  }

  signal.throwIfAborted();
  const recordDaemon = (daemon: ProcessRef) => {
    state.pm2Pid = remember(state, daemon);
    writeState(stateDir, state);
  };
  const started = await startWorkers(state, { node, compression: options.compression, signal }, recordDaemon);
  recordWorkers(state, started);
  writeState(stateDir, state);
  await Promise.all(started.map((worker) => assertHealthy(worker, state)));

  signal.throwIfAborted();
  if (nginx) {
    const dir = join(stateDir, 'nginx');
    const timeoutSeconds = proxyTimeoutSeconds(pingOf(process.env));
    const options = { nginx, port, statusPort, tls, timeoutSeconds, plan: plan.nginx, workers, dir, logDir };
    await startNginx(options, (master) => {
      state.nginxPid = remember(state, master);
      writeState(stateDir, state);
    });
    recordNginxWorkers(state);
    state.nginxStatusUrl = statusUrl(statusPort);
  }

  signal.throwIfAborted();
  state.phase = 'up';
  if (options.persistent) {
    delete state.ownerPid;
    delete state.keeperPid;
  }
  writeState(stateDir, state);
  return state;
}

/** Updates the state from PM2's list of workers. */
export function recordWorkers(state: StackState, workers: Pm2Worker[]): void {
  for (const worker of state.workers) {
    const now = workers.find(({ id }) => id === worker.id);
    const ref = processRef(now?.pid);
    worker.pid = remember(state, ref) ?? 0;
    worker.restarts = now?.restarts ?? worker.restarts;
  }
}

async function assertHealthy(worker: Pm2Worker, state: StackState): Promise<void> {
  const controlUrl = state.workers.find(({ id }) => id === worker.id)?.controlUrl;
  let problem = `is ${worker.status} after ${worker.restarts} restarts`;
  // A worker that was already restarted will fail again.
  if (worker.status === 'online' && worker.restarts === 0) {
    problem = `does not answer ${controlUrl}/healthz`;
    if (await waitFor(() => isWell(`${controlUrl}/healthz`), HEALTH_TIMEOUT_MS)) return;
  }
  throw new CapacityError(
    'START_FAILED',
    `Worker ${worker.id} ${problem}\nThe end of its log:\n${logTail(join(state.logDir, `${worker.id}.log`))}`,
    'Correct what the lines above, from the worker’s own log, report.',
  );
}
