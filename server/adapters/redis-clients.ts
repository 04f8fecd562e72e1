/**
 * Redis clients for adapters. They count their errors and reconnect by themselves. If the address is a node of a Redis
 * Cluster, each client connects to all nodes.
 */
import type { Logger } from 'pino';
import type { RedisClientType, RedisClusterType } from 'redis';
import { z } from 'zod';
import { onlyOnce } from '../../protocol/base/only-once.ts';
import { resultWithin } from '../../protocol/base/within.ts';
import { CapacityError } from '../../protocol/codes/errors.ts';
import { redisRefusalFix } from '../../protocol/wire/redis-refusals.ts';

const CONNECT_TIMEOUT_MS = 3000;
const RECONNECT_MAX_MS = 2000;
const CLOSE_TIMEOUT_MS = 1000;

export const redisEnvironment = z.object({
  REDIS_URL: z
    .url({ protocol: /^rediss?$/, error: 'must be redis://host:port or rediss://host:port' })
    .describe('Redis, or a node of a Redis Cluster; required by all adapters but `in-memory`'),
  CAPACITY_REDIS_PREFIX: z
    .string()
    .default('socket.io')
    .describe('prefix of the channels, and name of the stream: workers with the same one form a cluster'),
});

export type AnyRedisClient = RedisClientType | RedisClusterType;

interface RedisClients {
  /**
   * Returns a client for publishing. A publication fails at once while Redis is unavailable, because a late broadcast
   * is useless.
   */
  publisher(): Promise<AnyRedisClient>;
  /** Returns a client for subscribing. Its subscriptions wait until Redis is available again. */
  subscriber(): Promise<AnyRedisClient>;
  errors(): number;
  /** Closes the clients. Called after `io.close()`. A second call does nothing. */
  close(): Promise<void>;
}

/**
 * Connects the clients that `use` requests, and waits for the subscriptions that the adapter makes in `use`. A
 * connection that is lost later is logged, counted and restored.
 * @throws CapacityError REDIS_UNREACHABLE, REDIS_REFUSES; everything is closed by then
 */
export async function connectRedis(
  url: string,
  log: Logger,
  use: (clients: RedisClients) => Promise<void>,
): Promise<RedisClients> {
  const library = await import('redis');
  const opened: AnyRedisClient[] = [];
  const subscriptions: Promise<unknown>[] = [];
  let [errors, isCluster, started] = [0, false, false];

  const onError = (error: Error): void => {
    errors++;
    if (started) log.error({ cause: error.message }, 'redis');
  };

  async function open(options: { disableOfflineQueue?: boolean }): Promise<AnyRedisClient> {
    const reconnectStrategy = (retries: number) =>
      started && Math.min(RECONNECT_MAX_MS, 50 * 2 ** retries) * (0.5 + Math.random() / 2);
    const socket = { connectTimeout: CONNECT_TIMEOUT_MS, reconnectStrategy };
    const client = isCluster
      ? library.createCluster({ rootNodes: [{ url }], defaults: nodeOptions(url, socket, options) })
      : library.createClient({ url, socket, ...options });
    opened.push(client as AnyRedisClient);
    client.on('error', onError);
    client.on('node-error', onError);
    watch(client);
    await client.connect();
    return client as AnyRedisClient;
  }

  /**
   * Counts rejected promises of the methods in `UNWATCHED`. The adapters ignore these promises, so a rejection would
   * end the process.
   */
  function watch(client: object): void {
    // The factory returns an object that inherits from the actual client. The actual client is patched, because a
    // cluster client resubscribes through its own methods.
    const methods = Object.getPrototypeOf(client) as Record<string, (...args: unknown[]) => Promise<unknown>>;
    for (const name of UNWATCHED) {
      const method = methods[name]?.bind(methods);
      methods[name] = (...args) => {
        const answer = method?.(...args) ?? Promise.resolve();
        if (!started && /subscribe$/i.test(name)) subscriptions.push(answer);
        return answer.catch(onError);
      };
    }
  }

  const clients: RedisClients = {
    publisher: () => open({ disableOfflineQueue: true }),
    subscriber: () => open({}),
    errors: () => errors,
    close: onlyOnce(async () => {
      await Promise.all(opened.map(closeClient));
    }),
  };
  try {
    isCluster = await isClusterNode(url, library);
    await use(clients);
    await Promise.all(subscriptions);
    started = true;
  } catch (cause) {
    await clients.close();
    throw cause instanceof library.ErrorReply && subscriptions.length > 0
      ? refusedError(url, cause)
      : unreachableError(url, cause);
  }
  return clients;
}

/**
 * Returns whether the address is a node of a cluster. A single Redis, or a proxy in front of a cluster, responds to
 * `CLUSTER INFO` with an error.
 */
async function isClusterNode(url: string, { createClient, ErrorReply }: typeof import('redis')): Promise<boolean> {
  const socket = { connectTimeout: CONNECT_TIMEOUT_MS, reconnectStrategy: false as const };
  const client = createClient({ url, socket });
  client.on('error', () => {});
  try {
    await client.connect();
    await client.sendCommand(['CLUSTER', 'INFO']);
    return true;
  } catch (error) {
    if (client.isReady && error instanceof ErrorReply) return false;
    throw error;
  } finally {
    client.destroy();
  }
}

const UNWATCHED = [
  'publish',
  'subscribe',
  'pSubscribe',
  'unsubscribe',
  'pUnsubscribe',
  'sPublish',
  'sSubscribe',
  'sUnsubscribe',
  'xAdd',
  'set',
] as const;

/**
 * Returns the options for connections to cluster nodes. The client does not copy credentials and TLS from the URL of
 * the root node.
 */
function nodeOptions(url: string, socket: object, options: object): object {
  const { protocol, username, password } = new URL(url);
  return {
    ...options,
    ...(username && { username: decodeURIComponent(username) }),
    ...(password && { password: decodeURIComponent(password) }),
    socket: { ...socket, ...(protocol === 'rediss:' && { tls: true }) },
  };
}

async function closeClient(client: AnyRedisClient): Promise<void> {
  if (!('masters' in client)) return closeConnection(client);
  const nodes = [...client.masters.flatMap((node) => [node.client, node.pubSub?.client]), client.pubSubNode?.client];
  await Promise.all(nodes.flatMap((node) => (node ? closeConnection(node as Connection) : [])));
  client.destroy();
}

type Connection = Pick<RedisClientType, 'isReady' | 'close' | 'destroy'>;

/**
 * Closes a connection with a timeout. A graceful close waits for pending replies, and a lost connection never delivers
 * them.
 */
async function closeConnection(client: Connection): Promise<void> {
  if (client.isReady) await resultWithin(client.close(), CLOSE_TIMEOUT_MS);
  client.destroy();
}

function unreachableError(url: string, cause: unknown): CapacityError {
  if (cause instanceof Error && redisRefusalFix(cause)) return refusedError(url, cause);
  const message = `no Redis server answers at ${withoutPassword(url)}`;
  return new CapacityError('REDIS_UNREACHABLE', message, undefined, { cause });
}

function refusedError(url: string, cause: Error): CapacityError {
  const message = `the Redis at ${withoutPassword(url)} refuses what the adapter needs: ${cause.message}`;
  return new CapacityError('REDIS_REFUSES', message, redisRefusalFix(cause), { cause });
}

function withoutPassword(url: string): string {
  const shown = new URL(url);
  if (shown.password) shown.password = '***';
  return shown.href;
}
