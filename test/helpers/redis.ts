import { freePorts } from '../../server/stack/ports.ts';
import { restartOwnRedis, startOwnRedis } from '../../server/stack/redis.ts';
import { isAlive, terminate } from '../../server/stack/state/processes.ts';
import { pidsOfRedis, refsOf, type StackState } from '../../server/stack/state/state.ts';
import { requireTool } from '../../server/stack/tools.ts';
import { startProcess } from './process.ts';
import type { Cleaner } from './raw-listen.ts';
import { tempFolder } from './temp-folder.ts';

export type TestRedis = Awaited<ReturnType<typeof startRedis>>;

/** Starts a Redis server, without persistence, until the test ends. @param port default: a free one @param options of its command line */
export async function startRedis(t: Cleaner, port?: number, options: string[] = []) {
  const chosen = port ?? (await freePort());
  const { said, kill, ended } = startProcess(t, 'redis-server', [
    ...['--port', `${chosen}`, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', '/tmp', ...options],
  ]);
  await said(/Ready to accept connections/);
  /** At once. */
  const close = async () => {
    kill();
    await ended;
  };
  return { url: `redis://127.0.0.1:${chosen}`, port: chosen, close };
}

export type TestRedisCluster = Awaited<ReturnType<typeof startRedisCluster>>;

/** Starts a Redis Cluster of three nodes, as a stack does, until the test ends. @returns the URL of one, with the password of all */
export async function startRedisCluster(t: Cleaner) {
  const dir = tempFolder(t);
  const state = { redisNodes: [], startTimes: {}, logDir: dir } as unknown as StackState;
  const running = () => refsOf(state, pidsOfRedis(state)).filter(isAlive);
  /** All nodes, or one. */
  const stop = async (node?: number) => {
    const pids = node === undefined ? pidsOfRedis(state) : [state.redisNodes[node]?.pid];
    await terminate(refsOf(state, pids), 2000);
  };
  t.after(() => stop());
  await startOwnRedis(requireTool('redis-server'), 3, dir, state, () => {});
  /** All nodes run afterwards; those that had ended are empty. */
  const start = async () => {
    if (running().length === state.redisNodes.length) return;
    await stop();
    await restartOwnRedis(dir, state, () => {});
  };
  return { url: state.redisUrl ?? '', nodes: state.redisNodes, stop, start };
}

/** @returns a port that was free a moment ago, and that no outgoing connection can take (`PORT_RANGE`) */
export async function freePort(): Promise<number> {
  const [port = 0] = await freePorts(1);
  return port;
}
