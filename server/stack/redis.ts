/**
 * Redis for the adapter. It is the user's own Redis, or one that the stack starts: a single Redis or a Redis Cluster on
 * 127.0.0.1 without replicas.
 */
import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { createClient } from 'redis';
import { CapacityError } from '../../protocol/codes/errors.ts';
import { redisPartName, redisRefusalFix } from '../../protocol/wire/redis-refusals.ts';
import type { RedisNodeState, StackState } from './state/state.ts';
import { requireTool } from './tools.ts';
import { waitUntilTrue } from './wait-for.ts';

type OwnRedis = Pick<StackState, 'redisUrl' | 'redisNodes'>;

/** Timeout of `redis-cli --cluster create`. The command itself waits forever for nodes that do not join. */
const JOIN_TIMEOUT_MS = 30_000;
/** Timeout of `waitForRedisCluster`. After joining, nodes wait two seconds before they accept writes. */
const READY_TIMEOUT_MS = 20_000;

/**
 * Plans a new Redis with a new password.
 * @param count number of cluster nodes; 1 for a single Redis
 * @param ports free ports, two for each node
 */
export function planRedis(count: number, ports: number[]): { redisUrl: string; redisNodes: RedisNodeState[] } {
  const redisNodes = Array.from({ length: count }, (_, index) => ({
    port: ports[2 * index] ?? 0,
    ...(count > 1 && { busPort: ports[2 * index + 1] ?? 0 }),
    pid: 0,
  }));
  const password = randomBytes(24).toString('base64url');
  return { redisUrl: `redis://:${password}@127.0.0.1:${redisNodes[0]?.port}`, redisNodes };
}

/** Writes `<folder>/<index>/redis.conf` for each node. Persistence is off, because Redis only forwards messages. */
export function configureRedis(folder: string, { redisUrl = '', redisNodes }: OwnRedis): void {
  const { password } = new URL(redisUrl);
  for (const [index, { port, busPort }] of redisNodes.entries()) {
    const dir = join(folder, String(index));
    // The password is in a file, because every user can read command lines. A password is required, because every user
    // can connect to the port.
    const settings = { port, bind: '127.0.0.1', requirepass: password, dir, save: '', appendonly: 'no' };
    const asNode = { 'cluster-enabled': 'yes', 'cluster-port': busPort, 'cluster-announce-ip': '127.0.0.1' };
    const lines = Object.entries({ ...settings, ...(busPort !== undefined && asNode) }).map(
      ([name, value]) => `${name} ${JSON.stringify(String(value))}\n`,
    );
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    writeFileSync(join(dir, 'redis.conf'), lines.join(''), { mode: 0o600 });
  }
}

/**
 * Joins new nodes to a cluster, and waits until the cluster is ready.
 * @throws CapacityError `START_FAILED`, `NOT_INSTALLED`
 */
export async function formRedisCluster(redis: OwnRedis): Promise<void> {
  const nodes = redis.redisNodes.map(({ port, busPort }) => `127.0.0.1:${port}@${busPort}`);
  const result = await execa(requireTool('redis-cli'), ['--cluster', 'create', ...nodes, '--cluster-yes'], {
    // Passes the password in the environment, because every user can read command lines.
    env: { REDISCLI_AUTH: new URL(redis.redisUrl ?? '').password },
    all: true,
    reject: false,
    timeout: JOIN_TIMEOUT_MS,
  });
  if (result.failed) throw clusterError(result.all || `${result.shortMessage}`);
  await waitForRedisCluster(redis);
}

/**
 * Waits until every node has the addresses of all nodes and the assignment of all slots.
 * @throws CapacityError `START_FAILED`
 */
export async function waitForRedisCluster(redis: OwnRedis): Promise<void> {
  const expected = ['cluster_state:ok', 'cluster_slots_ok:16384', `cluster_known_nodes:${redis.redisNodes.length}`];
  for (const node of redis.redisNodes) {
    let info = '';
    const isReady = async () => {
      info = await sendRedisCommand(urlOf(redis, node), ['CLUSTER', 'INFO']).catch(({ message }) => message);
      return expected.every((line) => info.includes(`${line}\r\n`));
    };
    if (!(await waitUntilTrue(isReady, READY_TIMEOUT_MS)))
      throw clusterError(`node 127.0.0.1:${node.port} reports:\n${info}`);
  }
}

function clusterError(output: string): CapacityError {
  return new CapacityError(
    'START_FAILED',
    `The nodes of the Redis Cluster did not join each other:\n${output}`,
    'A cluster needs Redis 7.0 or newer: redis-server --version. With REDIS_NODES=1, the stack starts a single Redis.',
  );
}

/** Returns the names of the Redis processes in the list of deployment parts. */
export function redisPartNames({ redisNodes }: StackState): string[] {
  return redisNodes.map(({ port, busPort }) => redisPartName(busPort === undefined ? undefined : `127.0.0.1:${port}`));
}

export async function redisAnswers(redis: OwnRedis, node: RedisNodeState): Promise<boolean> {
  return sendRedisCommand(urlOf(redis, node), ['PING']).then(
    () => true,
    () => false,
  );
}

/**
 * @throws CapacityError `REDIS_UNREACHABLE` or `REDIS_REFUSES` if the user's Redis does not reply, or refuses the
 * command
 */
export async function assertRedisAnswers(url: string): Promise<void> {
  const { host } = new URL(url); // Host and port, without the password.
  await sendRedisCommand(url, ['PING']).catch((cause) => {
    const refusal = redisRefusalFix(cause);
    if (refusal) throw new CapacityError('REDIS_REFUSES', `The Redis at ${host} refuses PING.`, refusal, { cause });
    const fix = 'Check REDIS_URL, or unset it, so that the stack starts its own Redis.';
    throw new CapacityError('REDIS_UNREACHABLE', `The Redis at ${host} does not answer.`, fix, { cause });
  });
}

/** Returns the URL of a node. All nodes have the same password. */
function urlOf({ redisUrl = '' }: OwnRedis, { port }: RedisNodeState): string {
  return Object.assign(new URL(redisUrl), { port }).href;
}

/**
 * Sends a command over a new connection.
 * @throws Error of the connection or of the command
 */
export async function sendRedisCommand(url: string, command: string[]): Promise<string> {
  const client = createClient({ url, socket: { reconnectStrategy: false, connectTimeout: 2_000 } });
  // The error also rejects `connect`. Without a listener, the event would end the process.
  client.on('error', () => {});
  try {
    await client.connect();
    return String(await client.sendCommand(command));
  } finally {
    if (client.isOpen) client.destroy();
  }
}
