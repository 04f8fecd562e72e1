import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { restartOwnRedis, startOwnRedis } from '../../server/stack/redis/own-redis.ts';
import { isAlive, terminate } from '../../server/stack/state/processes.ts';
import { pidsOfRedis, refsOf, type StackState } from '../../server/stack/state/state.ts';
import { requireTool } from '../../server/stack/tools.ts';

export interface TestRedis {
  url: string;
  port: number;
  /** Stops it at once. Idempotent. */
  close(): Promise<void>;
}

/** Starts a Redis server for a test, without persistence, by default on a free port. @param options of its command line */
export async function startRedis(port?: number, options: string[] = []): Promise<TestRedis> {
  const chosen = port ?? (await freePort());
  const child = spawn(
    'redis-server',
    ['--port', `${chosen}`, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', '/tmp', ...options],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const exited = once(child, 'exit');
  const kill = () => void child.kill('SIGKILL');
  process.once('exit', kill);
  const close = async () => {
    kill();
    await exited;
    process.off('exit', kill);
  };
  const log: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.includes('Ready to accept connections')) {
      child.stdout.resume();
      return { url: `redis://127.0.0.1:${chosen}`, port: chosen, close };
    }
    log.push(line);
  }
  await close();
  throw new Error(`redis-server did not start on port ${chosen}:\n${log.join('\n')}`);
}

export interface TestRedisCluster {
  /** Of one node, with the password of all. */
  url: string;
  /** Folder with the configuration of each. */
  dir: string;
  nodes: StackState['redisNodes'];
  /** Ends all nodes, or one. */
  stop(node?: number): Promise<void>;
  /** All nodes run afterwards; those that had ended are empty. */
  start(): Promise<void>;
  close(): Promise<void>;
}

/** Starts a Redis Cluster of three nodes, as a stack does. */
export async function startRedisCluster(): Promise<TestRedisCluster> {
  const dir = mkdtempSync(join(tmpdir(), 'redis-cluster-'));
  const state = { redisNodes: [], startTimes: {}, logDir: dir } as unknown as StackState;
  const running = () => refsOf(state, pidsOfRedis(state)).filter(isAlive);
  const kill = () => {
    for (const { pid } of running()) process.kill(pid, 'SIGKILL');
  };
  process.once('exit', kill);
  const stop = async (node?: number) => {
    const refs = refsOf(state, node === undefined ? pidsOfRedis(state) : [state.redisNodes[node]?.pid]);
    await terminate(refs, 2000);
  };
  const close = async () => {
    await stop();
    process.off('exit', kill);
    rmSync(dir, { recursive: true, force: true });
  };
  try {
    await startOwnRedis(requireTool('redis-server'), 3, dir, state, () => {});
  } catch (error) {
    await close();
    throw error;
  }
  const start = async () => {
    if (running().length === state.redisNodes.length) return;
    await stop();
    await restartOwnRedis(dir, state, () => {});
  };
  return { url: state.redisUrl ?? '', dir, nodes: state.redisNodes, stop, start, close };
}

/** @returns a TCP port of 127.0.0.1 that was free a moment ago */
export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}
