/**
 * Redis for the adapter: the user's, or what a stack starts for itself: a single one, or the nodes of a Redis Cluster, which are
 * all on 127.0.0.1, and have no replicas.
 */
import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createClient } from 'redis';
import { CapacityError } from '../../protocol/errors.ts';
import { redisPart } from '../../protocol/redis-part.ts';
import { freePorts } from './ports.ts';
import { startServer, waitFor } from './server-process.ts';
import type { ProcessRef } from './state/processes.ts';
import { type RedisNodeState, remember, type StackState } from './state/state.ts';
import { requireTool } from './tools.ts';

/**
 * Puts its address and its processes into the state.
 * @param count of nodes; 1 for a Redis outside any cluster
 * @param save writes the state, as soon as each process exists
 * @throws CapacityError `START_FAILED`
 */
export async function startOwnRedis(
  redisServer: string,
  count: number,
  stateDir: string,
  state: StackState,
  save: () => void,
): Promise<void> {
  const ports = await freePorts(2 * count);
  const planned = Array.from({ length: count }, (_, index) => ({
    port: ports[2 * index] ?? 0,
    ...(count > 1 && { busPort: ports[2 * index + 1] ?? 0 }),
  }));
  state.redisUrl = newRedisUrl(planned[0]?.port ?? 0);
  for (const node of planned) {
    await start(redisServer, stateDir, state, node, (pid) => {
      state.redisNodes.push({ ...node, pid });
      save();
    });
  }
  if (count > 1) await formCluster(clusterOf(state));
}

/**
 * Each on its port, with the same password, and empty. To be called when they have ended.
 * @throws CapacityError `START_FAILED`, `NOT_INSTALLED`
 */
export async function restartOwnRedis(stateDir: string, state: StackState, save: () => void): Promise<void> {
  const redisServer = requireTool('redis-server');
  const starts = state.redisNodes.map((node) =>
    start(redisServer, stateDir, state, node, (pid) => {
      node.pid = pid;
      save();
    }),
  );
  await Promise.all(starts);
  if (starts.length > 1) await clusterReady(clusterOf(state));
}

/** @returns what its processes are called as parts of the deployment */
export function redisParts({ redisNodes }: StackState): string[] {
  return redisNodes.map(({ port, busPort }) => redisPart(busPort === undefined ? undefined : `127.0.0.1:${port}`));
}

async function start(
  redisServer: string,
  stateDir: string,
  state: StackState,
  { port, busPort }: Pick<RedisNodeState, 'port' | 'busPort'>,
  onStart: (pid: number) => void,
): Promise<void> {
  const [dir, name] = busPort === undefined ? ['redis', 'redis'] : [`redis/${port}`, `redis-${port}`];
  const logFile = join(state.logDir, `${name}.log`);
  await startRedis(redisServer, { url: urlOf(state, port), dir: join(stateDir, dir), logFile, busPort }, (redis) => {
    remember(state, redis);
    onStart(redis.pid);
  });
}

function clusterOf(state: StackState): ClusterNode[] {
  return state.redisNodes.map(({ port, busPort = 0 }) => ({ url: urlOf(state, port), busPort }));
}

/** All nodes have the same password. */
function urlOf({ redisUrl = '' }: StackState, port: number): string {
  const url = new URL(redisUrl);
  url.port = String(port);
  return url.href;
}

const SLOTS = 16_384;
/** Nodes need a second or two to meet, and take two more before they believe it. */
const READY_TIMEOUT_MS = 20_000;

interface ClusterNode {
  /** With port and password. */
  url: string;
  busPort: number;
}

/**
 * Makes one cluster of nodes that are new, and waits until each of them says that it is.
 * @throws CapacityError `START_FAILED`
 */
async function formCluster(nodes: ClusterNode[]): Promise<void> {
  const [first] = nodes;
  if (!first) return;
  await Promise.all(
    nodes.map(async ({ url }, index) => {
      const [from, to] = slotsOf(index, nodes.length);
      // Nodes with the same epoch would first have to settle which of them is the elder.
      await askRedis(url, ['CLUSTER', 'SET-CONFIG-EPOCH', `${index + 1}`]);
      await askRedis(url, ['CLUSTER', 'ADDSLOTSRANGE', `${from}`, `${to}`]);
    }),
  ).catch(failed);
  for (const { url, busPort } of nodes.slice(1)) {
    await askRedis(first.url, ['CLUSTER', 'MEET', '127.0.0.1', new URL(url).port, `${busPort}`]).catch(failed);
  }
  await clusterReady(nodes);
}

/**
 * Waits until each node knows all the others, and where every slot is.
 * @throws CapacityError `START_FAILED`
 */
async function clusterReady(nodes: ClusterNode[]): Promise<void> {
  for (const { url } of nodes) {
    let info = '';
    const ready = async () => {
      info = await askRedis(url, ['CLUSTER', 'INFO']).catch(failed);
      return isReady(info, nodes.length);
    };
    if (!(await waitFor(ready, READY_TIMEOUT_MS))) failed(new Error(`node ${new URL(url).host} says:\n${info}`));
  }
}

/** @returns the first and the last slot of the node */
export function slotsOf(node: number, nodes: number): [number, number] {
  return [Math.round((node * SLOTS) / nodes), Math.round(((node + 1) * SLOTS) / nodes) - 1];
}

/** @param info as `CLUSTER INFO` has it */
function isReady(info: string, nodes: number): boolean {
  return ['cluster_state:ok', `cluster_slots_ok:${SLOTS}`, `cluster_known_nodes:${nodes}`].every((line) =>
    info.includes(`${line}\r\n`),
  );
}

function failed(cause: Error): never {
  throw new CapacityError(
    'START_FAILED',
    `The nodes of the Redis Cluster did not become one: ${cause.message}`,
    'A cluster needs Redis 7.0 or newer: redis-server --version. With REDIS_NODES=1, the stack starts a single Redis.',
    { cause },
  );
}

interface RedisToStart {
  /** With port and password. */
  url: string;
  /** For its configuration, and what it writes; made if it does not exist. */
  dir: string;
  logFile: string;
  /** Where the other nodes of its cluster reach it; undefined outside a cluster. */
  busPort?: number | undefined;
}

/** @returns the address of a Redis that is yet to be started, with a new password */
export function newRedisUrl(port: number): string {
  return `redis://:${randomBytes(24).toString('base64url')}@127.0.0.1:${port}`;
}

/**
 * Starts a Redis without persistence, as it only relays messages. Resolves when it answers.
 * @param onStart called as soon as the process exists
 * @throws CapacityError `START_FAILED`
 */
export async function startRedis(
  redisServer: string,
  { url, dir, logFile, busPort }: RedisToStart,
  onStart?: (redis: ProcessRef) => void,
): Promise<ProcessRef> {
  const { port, password } = new URL(url);
  // In a file, as every user can read command lines; with a password, as every user of this machine can connect.
  const settings = { port, bind: '127.0.0.1', requirepass: password, dir, save: '', appendonly: 'no', daemonize: 'no' };
  const asNode = { 'cluster-enabled': 'yes', 'cluster-port': busPort, 'cluster-announce-ip': '127.0.0.1' };
  const lines = Object.entries({ ...settings, ...(busPort !== undefined && asNode) }).map(
    ([name, value]) => `${name} ${JSON.stringify(String(value))}\n`,
  );
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const configFile = join(dir, 'redis.conf');
  writeFileSync(configFile, lines.join(''), { mode: 0o600 });

  return startServer({
    name: 'redis-server',
    program: redisServer,
    args: [configFile],
    dir,
    logFile,
    fix: 'Correct what the lines above, from its own log, report.',
    answers: () =>
      askRedis(url, ['PING']).then(
        () => true,
        () => false,
      ),
    onStart,
  });
}

/** @throws CapacityError `START_FAILED` when the Redis that the user named does not answer */
export async function assertRedisAnswers(url: string): Promise<void> {
  const { host } = new URL(url); // Without the password.
  await askRedis(url, ['PING']).catch((cause) => {
    const fix = 'Check REDIS_URL, or unset it, so that the stack starts its own Redis.';
    throw new CapacityError('REDIS_UNREACHABLE', `The Redis at ${host} does not answer.`, fix, { cause });
  });
}

/** Over a connection for this one command. @throws Error of the connection, or of the command */
export async function askRedis(url: string, command: string[]): Promise<string> {
  const client = createClient({ url, socket: { reconnectStrategy: false, connectTimeout: 2_000 } });
  // The client also rejects; without a listener the event would end the process.
  client.on('error', () => {});
  try {
    await client.connect();
    return String(await client.sendCommand(command));
  } finally {
    if (client.isOpen) client.destroy();
  }
}
