/**
 * The Redis that a stack starts for itself: a single one, or the nodes of a Redis Cluster, which are all on 127.0.0.1, and have
 * no replicas.
 */
import { join } from 'node:path';
import { CapacityError } from '../../../protocol/errors.ts';
import { redisPart } from '../../../protocol/redis-part.ts';
import { freePorts } from '../ports.ts';
import { waitFor } from '../server-process.ts';
import { type RedisNodeState, remember, type StackState } from '../state/state.ts';
import { requireTool } from '../tools.ts';
import { askRedis, newRedisUrl, startRedis } from './redis.ts';

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
