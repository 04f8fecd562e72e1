import { join } from 'node:path';
import { findFreePorts } from '../../server/stack/ports.ts';
import { configureRedis, formRedisCluster, planRedis, waitForRedisCluster } from '../../server/stack/redis.ts';
import { type StartedProcess, startProcess } from './process.ts';
import type { Cleaner } from './raw-listen.ts';
import { tempFolder } from './temp-folder.ts';

export type TestRedis = Awaited<ReturnType<typeof startRedis>>;

/**
 * Starts a Redis server without persistence. It runs until the test ends.
 * @param port default: a free port
 * @param options options on its command line
 */
export async function startRedis(t: Cleaner, port?: number, options: string[] = []) {
  const chosen = port ?? (await freePort());
  const { said, kill, ended } = startProcess(t, 'redis-server', [
    ...['--port', `${chosen}`, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', '/tmp', ...options],
  ]);
  await said(/Ready to accept connections/);
  /** Kills the server immediately. */
  const close = async () => {
    kill();
    await ended;
  };
  return { url: `redis://127.0.0.1:${chosen}`, port: chosen, close };
}

export type TestRedisCluster = Awaited<ReturnType<typeof startRedisCluster>>;

/**
 * Starts a Redis Cluster of three nodes like a stack. It runs until the test ends.
 * @returns the URL of a node, with the password
 */
export async function startRedisCluster(t: Cleaner) {
  const dir = tempFolder(t);
  const redis = planRedis(3, await findFreePorts(6));
  configureRedis(dir, redis);
  const processes: (StartedProcess | undefined)[] = [];
  const run = async () => {
    for (const [index] of redis.redisNodes.entries()) {
      const node = startProcess(t, 'redis-server', [join(dir, `${index}/redis.conf`)]);
      processes[index] = node;
      await node.said(/Ready to accept connections/);
    }
  };
  /** Stops all nodes or one node. */
  const stop = async (node?: number) => {
    for (const index of node === undefined ? processes.keys() : [node]) {
      processes[index]?.kill('SIGTERM');
      await processes[index]?.ended;
      processes[index] = undefined;
    }
  };
  /** Restarts all nodes without data, unless all are running. */
  const start = async () => {
    if (processes.every(Boolean)) return;
    await stop();
    await run();
    await waitForRedisCluster(redis);
  };
  await run();
  await formRedisCluster(redis);
  return { url: redis.redisUrl, nodes: redis.redisNodes, stop, start };
}

/** @returns a port that was free a moment ago; outgoing connections do not use ports of its range (`LISTENER_PORT_RANGE`) */
export async function freePort(): Promise<number> {
  const [port = 0] = await findFreePorts(1);
  return port;
}
