/** The Redis that a stack starts for itself: a single one, or the nodes of a Redis Cluster. */
import { join } from 'node:path';
import { redisPart } from '../../../protocol/redis-part.ts';
import { freePorts } from '../ports.ts';
import { type RedisNodeState, remember, type StackState } from '../state/state.ts';
import { requireTool } from '../tools.ts';
import { newRedisUrl, startRedis } from './redis.ts';
import { clusterReady, formCluster } from './redis-cluster.ts';

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

function clusterOf(state: StackState): { url: string; busPort: number }[] {
  return state.redisNodes.map(({ port, busPort = 0 }) => ({ url: urlOf(state, port), busPort }));
}

/** All nodes have the same password. */
function urlOf({ redisUrl = '' }: StackState, port: number): string {
  const url = new URL(redisUrl);
  url.port = String(port);
  return url.href;
}
