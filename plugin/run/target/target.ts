/** What is measured: our own stack that is already up, one that this run starts, or the user's own server. */
import { speaksTls } from '../../../protocol/agent.ts';
import { CapacityError } from '../../../protocol/errors.ts';
import type { WorkerStats } from '../../../protocol/events.ts';
import { thisHost } from '../../../protocol/machine/host.ts';
import { isLoopback } from '../../../protocol/machine/loopback.ts';
import { listens } from '../../../server/stack/ports.ts';
import {
  defaultStateDir,
  findLivingStack,
  type Stack,
  type StackState,
  startStack,
} from '../../../server/stack/stack.ts';
import {
  beginningOf,
  connectionsTo,
  type FullestProcess,
  fullestOf,
  type LayerPids,
  ServerProcesses,
} from '../../samplers/index.ts';
import { sourcesByLayer } from '../../script/options/worker-sources.ts';
import { ENGINE } from '../../script/script.ts';
import type { Settings } from '../../script/settings.ts';
import { leaveSession } from '../receivers/refusal-words.ts';
import { listenersOf, portOf } from './listeners.ts';

export interface Target {
  url: string;
  profile: 'full' | 'embedded' | 'remote';
  /** How to ask the workers; undefined where nobody may. */
  control: Settings['control'];
  redisUrl: string | undefined;
  /** Processes of the deployment on this machine. */
  pids(workers: WorkerStats[]): Promise<LayerPids>;
  /** Further processes of the deployment on this machine; undefined if there may be unknown ones. */
  unlayered(workers: WorkerStats[]): Promise<number[] | undefined>;
  /** Processes of each part of the deployment that is known, as `Stack.identities`. */
  identities(): Record<string, string>;
  /** Files and sockets that its processes have open, where only that tells of their connections; undefined if unknown. */
  openFiles?(): Promise<number | undefined>;
  /** Which of its processes is nearest to its limit of open files, where no worker tells; undefined if unknown. */
  fullest?(): Promise<FullestProcess | undefined>;
  /** Connections to its port on this machine but those of this process, where only that tells of others; undefined if unknown. */
  connections?(): Promise<number | undefined>;
  /** Undefined for a server of the user's own, to which a run does nothing but by the user's command. */
  stack: Pick<Stack, 'fault' | 'restarts' | 'state'> | undefined;
  /** The processes of the workers are known to run on this machine; otherwise only they themselves can tell. */
  isHere: boolean;
  /** Takes down what the run started, and nothing else. Idempotent. */
  close(): Promise<void>;
}

const HANDSHAKE_TIMEOUT_MS = 3000;
const MAX_HANDSHAKE_BYTES = 1000;

/**
 * @param connections over TCP that the scenario asks for: decides how large a stack is started
 * @param log gets a line for the user about whatever takes a while
 * @param signal ends the start of a stack; what was started until then is gone when this rejects
 * @throws CapacityError of the stack; PORT_UNAVAILABLE, CONTROL_MISSING, PROCESS_NOT_FOUND or IN_USE
 */
export async function openTarget(
  config: Settings,
  connections: number,
  log: (text: string) => void,
  signal: AbortSignal,
): Promise<Target> {
  const url = new URL(config.target);
  const stateDir = defaultStateDir();
  // Whoever is killed leaves a stack that listens and takes memory, whatever is measured now.
  const found = await findLivingStack(stateDir, (reason) =>
    log(`Cleaning up a stack left by a killed run (${reason}).`),
  );
  if (config.control) {
    logTokenInClear(config.control.urls, log);
    return ownServer(config);
  }
  // Both are of a server of the user's own.
  if (config.delivery || config.workerSources || config.layers) return fromOutside(config, log);
  // A stack is on this machine, and its certificate is checked by nobody.
  if (!isLoopback(url.hostname) || speaksTls(url) !== config.tls) return fromOutside(config, log);
  const port = Number(url.port) || 80;
  if (found.status === 'up' && Number(new URL(found.stack.state.target).port) === port) {
    requireFree(config, found.stack.state);
    log(`Using the stack that is up at ${url.origin}; it stays up.`);
    return ofStack(found.stack, async () => {});
  }
  if (await listens(url.hostname, port)) {
    const answer = await handshake(url, config.connection.path);
    if (answer !== undefined) throw taken(port, answer);
    return fromOutside(config, log);
  }
  const { profile, tls, workers, redisUrl, redisNodes } = config;
  const { compression } = config.connection;
  log(describeStart(config));
  const redis = { redisUrl, redisNodes };
  const stack = await startStack({ profile, port, tls, compression, connections, workers, ...redis, stateDir }, signal);
  return ofStack(stack, () => stack.close());
}

function describeStart({ profile, redisUrl, redisNodes = 1, tls }: Settings): string {
  if (profile === 'embedded') return 'Starting one Socket.IO worker with the in-memory adapter (profile: embedded).';
  const redis = redisNodes > 1 ? `a Redis Cluster of ${redisNodes} nodes, ` : 'Redis, ';
  return `Starting ${redisUrl ? '' : redis}PM2 workers and nginx${tls ? ', which speaks TLS' : ''}.`;
}

function ofStack(stack: Stack, close: () => Promise<void>): Target {
  const { target, profile, workers, token, redisUrl } = stack.state;
  return {
    url: target,
    profile,
    control: { urls: workers.map(({ controlUrl }) => controlUrl), token, tls: {} },
    redisUrl,
    pids: async () => {
      const now = await stack.refresh();
      return {
        worker: now.workers.map(({ pid }) => pid).filter((pid) => pid > 0),
        pm2: [now.pm2Pid ?? []].flat(),
        nginx: [now.nginxPid ?? [], now.nginxWorkerPids].flat(),
        redis: now.redisNodes.map(({ pid }) => pid),
      };
    },
    unlayered: async () => [],
    identities: () => stack.identities(),
    stack,
    isHere: true,
    close,
  };
}

/**
 * Somebody's Socket.IO server into which nothing was put: it is measured from outside.
 * @throws CapacityError CONTROL_MISSING with an external engine: nobody would count the connections
 */
function fromOutside(config: Settings, log: (text: string) => void): Target {
  if (config.engine !== ENGINE) {
    throw new CapacityError(
      'CONTROL_MISSING',
      `no control port is known for the workers behind ${config.target}, and engine ${config.engine} does not count its connections for a run`,
      'call instrument(io) in the server and name its control ports: config.plugins.socketio-capacity.control: {urls, token}; or use engine socketio-capacity',
    );
  }
  const without = config.delivery ? 'no forced garbage collection' : 'no broadcasts, no forced garbage collection';
  log(`No control port is known, so the run measures from outside: ${without}.`);
  return ownServer(config);
}

/** @throws CapacityError PROCESS_NOT_FOUND */
function ownServer(config: Settings): Target {
  const { target: url, control, redisUrl } = config;
  const { worker: processes, ...others } = processesOf(config);
  const listeners = listenersOf(url);
  const here = thisHost();
  const isHere = ({ host }: WorkerStats) => host.kernel === here.kernel && host.pidNamespace === here.pidNamespace;
  return {
    url,
    profile: 'remote',
    control,
    redisUrl,
    // A sum over only some of them would be too low.
    pids: async (workers) => ({
      worker: (await processes?.pids()) ?? (workers.every(isHere) ? workers.map(({ pid }) => pid) : []),
      ...Object.fromEntries(
        await Promise.all(Object.entries(others).map(async ([layer, one]) => [layer, await one.pids()])),
      ),
    }),
    unlayered: async (workers) => {
      const hidesWorkers =
        !processes && workers.some((worker) => worker.host.kernel === here.kernel && !isHere(worker));
      return hidesWorkers ? undefined : listeners();
    },
    identities: () => ({
      ...(processes && { "the server's processes": processes.identity() }),
      ...Object.fromEntries(Object.entries(others).map(([layer, one]) => [layer, one.identity()])),
    }),
    openFiles: async () => (control ? undefined : processes?.openFiles()),
    fullest: async () => (control ? undefined : fullestOf((await processes?.pids()) ?? (await listeners()) ?? [])),
    connections: async () =>
      control || !processes || !isLoopback(new URL(url).hostname) ? undefined : connectionsTo(portOf(url)),
    stack: undefined,
    isHere: processes !== undefined,
    close: async () => {},
  };
}

/** By layer, the processes that the settings name. @throws CapacityError PROCESS_NOT_FOUND */
function processesOf(config: Settings): Record<string, ServerProcesses> {
  const named = Object.entries(sourcesByLayer(config)).filter(([, { pids, match, cgroup }]) => pids ?? match ?? cgroup);
  return Object.fromEntries(
    named.map(([layer, query]) => [
      layer,
      new ServerProcesses(query, layer === 'worker' ? 'workers' : `layers.${layer}`),
    ]),
  );
}

/** Not a reason of the verdict: no figure depends on it. */
function logTokenInClear(urls: string[], log: (text: string) => void): void {
  const inClear = urls
    .map((url) => new URL(url))
    .filter((url) => url.protocol !== 'https:' && !isLoopback(url.hostname));
  if (inClear.length === 0) return;
  const hosts = inClear.map(({ host }) => host).join(', ');
  log(
    `Warning: the control token crosses the network unencrypted, to ${hosts}. Who reads it can publish to the server's clients. ` +
      'Give `instrument(io)` the option `tls`, and the run https:// control URLs; or use a tunnel.',
  );
}

function taken(port: number, answer: string): CapacityError {
  return new CapacityError(
    'PORT_UNAVAILABLE',
    `port ${port} is taken by a program that is not a Socket.IO server: ${answer}`,
    `stop it (ss -ltnp 'sport = :${port}' names it), or measure on another port: TARGET=http://127.0.0.1:8081`,
  );
}

/**
 * @returns undefined from a Socket.IO server, or one that may be: it asks for what only a virtual user brings. Else what it
 * does instead of an Engine.IO handshake
 */
async function handshake(url: URL, path: string): Promise<string | undefined> {
  const address = `${url.origin.replace(/^ws/, 'http')}${path}?EIO=4&transport=polling`;
  try {
    const response = await fetch(address, { signal: AbortSignal.timeout(HANDSHAKE_TIMEOUT_MS) });
    const body = await beginningOf(response.body ?? [], MAX_HANDSHAKE_BYTES);
    await leaveSession(new URL(address), body);
    // A handshake, or the refusal of one: `{"code":…,"message":…}`.
    const mayBe = /^0\{"sid"|^\{"code":\d/.test(body) || [400, 401, 403, 429].includes(response.status);
    return mayBe ? undefined : `it answers HTTP ${response.status}`;
  } catch (error) {
    const { code } = ((error as Error).cause ?? {}) as { code?: string };
    // It hangs up on strangers.
    if (code === 'UND_ERR_SOCKET' || code === 'ECONNRESET') return undefined;
    if ((error as Error).name === 'TimeoutError') return `it did not answer within ${HANDSHAKE_TIMEOUT_MS / 1000} s`;
    return 'it does not speak HTTP';
  }
}

/** @throws CapacityError IN_USE or STACK_RUNNING, where the stack that is up is not the one to be measured now */
function requireFree({ tls, redisNodes: wanted }: Settings, state: StackState): void {
  const { ownerPid, target, redisNodes } = state;
  if (ownerPid !== undefined) {
    throw new CapacityError(
      'IN_USE',
      `another run (process ${ownerPid}) is already measuring on this stack, and two runs would distort each other's figures`,
      'wait until it ends, or keep a stack up for several runs: npx socketio-capacity stack up',
    );
  }
  const otherStack = (how: string, fix: string) => {
    const down = 'take it down (npx socketio-capacity stack down)';
    return new CapacityError('STACK_RUNNING', `the stack that is up ${how}`, `${down}, or ${fix}`);
  };
  const hasTls = speaksTls(target);
  if (tls && !hasTls) throw otherStack('does not speak TLS', 'npx socketio-capacity stack up --tls');
  if (!tls && hasTls) throw otherStack('speaks TLS', 'set TLS=on');
  const { length } = redisNodes;
  if (wanted === undefined || wanted === length) return;
  const has =
    length === 0 ? 'no Redis of its own' : length === 1 ? 'a single Redis' : `a Redis Cluster of ${length} nodes`;
  throw otherStack(`has ${has}, and REDIS_NODES asks for ${wanted}`, 'leave REDIS_NODES out');
}
