/**
 * The Redis connections of an adapter: they count their errors, come back by themselves, and close. Where the Redis is a
 * node of a Redis Cluster, each goes to all nodes.
 */
import type { Logger } from 'pino';
import type { RedisClientType, RedisClusterType } from 'redis';
import { z } from 'zod';
import { CapacityError } from '../../protocol/errors.ts';
import { onlyOnce } from '../../protocol/only-once.ts';
import { within } from '../../protocol/within.ts';

const CONNECT_TIMEOUT_MS = 3000;
const RECONNECT_MAX_MS = 2000;
const CLOSE_TIMEOUT_MS = 1000;

/** The environment variables of all adapters that use Redis. */
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

export class RedisClients {
  errors = 0;
  readonly #url: string;
  readonly #log: Logger;
  readonly #library: typeof import('redis');
  readonly #clients: AnyRedisClient[] = [];
  /** Those that the adapter has asked for before it was connected. */
  readonly #subscriptions: Promise<unknown>[] = [];
  #isCluster = false;
  #started = false;

  private constructor(url: string, log: Logger, library: typeof import('redis')) {
    this.#url = url;
    this.#log = log;
    this.#library = library;
  }

  /**
   * Connects what `use` adds, and waits for the subscriptions that the adapter begins in it. A connection that is lost later
   * is logged, counted and restored.
   * @throws CapacityError REDIS_UNREACHABLE, REDIS_REFUSES; everything is closed by then
   */
  static async connect(url: string, log: Logger, use: (clients: RedisClients) => Promise<void>): Promise<RedisClients> {
    const library = await import('redis');
    const clients = new RedisClients(url, log, library);
    try {
      clients.#isCluster = await clients.#leadsToCluster();
      await use(clients);
      await Promise.all(clients.#subscriptions);
      clients.#started = true;
    } catch (cause) {
      await clients.close();
      throw cause instanceof library.ErrorReply && clients.#subscriptions.length > 0
        ? refuses(url, cause)
        : unreachable(url, cause);
    }
    return clients;
  }

  /** A late publication is worthless, so it fails at once while Redis is unavailable. */
  publisher(): Promise<AnyRedisClient> {
    return this.#open({ disableOfflineQueue: true });
  }

  /** Subscriptions wait until Redis is back. */
  subscriber(): Promise<AnyRedisClient> {
    return this.#open({});
  }

  /** To be called after `io.close()`. Idempotent. */
  readonly close = onlyOnce(async () => {
    await Promise.all(this.#clients.map(closeClient));
  });

  async #open(options: { disableOfflineQueue?: boolean }): Promise<AnyRedisClient> {
    const reconnectStrategy = (retries: number) =>
      this.#started && Math.min(RECONNECT_MAX_MS, 50 * 2 ** retries) * (0.5 + Math.random() / 2);
    const socket = { connectTimeout: CONNECT_TIMEOUT_MS, reconnectStrategy };
    const client = this.#isCluster
      ? this.#library.createCluster({
          rootNodes: [{ url: this.#url }],
          defaults: ofEachNode(this.#url, socket, options),
        })
      : this.#library.createClient({ url: this.#url, socket, ...options });
    this.#clients.push(client as AnyRedisClient);
    client.on('error', this.#onError);
    client.on('node-error', this.#onError);
    this.#watch(client);
    await client.connect();
    return client as AnyRedisClient;
  }

  /** A Redis that is no node of a cluster, and proxies that hide one, answer with an error. */
  async #leadsToCluster(): Promise<boolean> {
    const socket = { connectTimeout: CONNECT_TIMEOUT_MS, reconnectStrategy: false as const };
    const client = this.#library.createClient({ url: this.#url, socket });
    client.on('error', () => {});
    try {
      await client.connect();
      await client.sendCommand(['CLUSTER', 'INFO']);
      return true;
    } catch (error) {
      if (client.isReady && error instanceof this.#library.ErrorReply) return false;
      throw error;
    } finally {
      client.destroy();
    }
  }

  readonly #onError = (error: Error): void => {
    this.errors++;
    if (this.#started) this.#log.error({ cause: error.message }, 'redis');
  };

  /** The adapters ignore the promises of `UNWATCHED`, also those of subscriptions: a rejection would end the process. */
  #watch(client: object): void {
    // The client itself, behind the one that its factory returns: a cluster subscribes again by itself, too.
    const methods = Object.getPrototypeOf(client) as Record<string, (...args: unknown[]) => Promise<unknown>>;
    for (const name of UNWATCHED) {
      const method = methods[name]?.bind(methods);
      methods[name] = (...args) => {
        const answer = method?.(...args) ?? Promise.resolve();
        if (!this.#started && /subscribe$/i.test(name)) this.#subscriptions.push(answer);
        return answer.catch(this.#onError);
      };
    }
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

/** A cluster's client takes neither credentials nor TLS from the URL by which it finds the nodes. */
function ofEachNode(url: string, socket: object, options: object): object {
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

/** A graceful close waits for pending replies, which never come if the connection is lost meanwhile. */
async function closeConnection(client: Connection): Promise<void> {
  if (client.isReady) await within(client.close(), CLOSE_TIMEOUT_MS);
  client.destroy();
}

function unreachable(url: string, cause: unknown): CapacityError {
  return new CapacityError('REDIS_UNREACHABLE', `no Redis server answers at ${withoutPassword(url)}`, undefined, {
    cause,
  });
}

function refuses(url: string, cause: Error): CapacityError {
  return new CapacityError(
    'REDIS_REFUSES',
    `the Redis at ${withoutPassword(url)} refuses what the adapter subscribes to: ${cause.message}`,
    undefined,
    { cause },
  );
}

function withoutPassword(url: string): string {
  const shown = new URL(url);
  if (shown.password) shown.password = '***';
  return shown.href;
}
