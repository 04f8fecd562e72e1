/** The Redis connections of an adapter: they count their errors, come back by themselves, and close. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { createClient, RedisClientType } from 'redis';
import { z } from 'zod';
import { CapacityError } from '../../protocol/errors.ts';

const CONNECT_TIMEOUT_MS = 3000;
const RECONNECT_MAX_MS = 2000;
const CLOSE_TIMEOUT_MS = 1000;

/** The environment variables of all adapters that use Redis. */
export const redisEnvironment = z.object({
  REDIS_URL: z.url({ protocol: /^rediss?$/, error: 'must be redis://host:port or rediss://host:port' }),
  /** Prefix of the channels: workers with the same one form a cluster. */
  CAPACITY_REDIS_PREFIX: z.string().default('socket.io'),
});

export class RedisClients {
  errors = 0;
  readonly #url: string;
  readonly #log: Logger;
  readonly #createClient: typeof createClient;
  readonly #clients: RedisClientType[] = [];
  #started = false;
  #closing: Promise<unknown> | undefined;

  private constructor(url: string, log: Logger, create: typeof createClient) {
    this.#url = url;
    this.#log = log;
    this.#createClient = create;
  }

  /**
   * Connects what `use` adds. A connection that is lost later is logged, counted and restored.
   * @param use resolves when the adapter's subscriptions are active
   * @throws CapacityError REDIS_UNREACHABLE; everything is closed by then
   */
  static async connect(url: string, log: Logger, use: (clients: RedisClients) => Promise<void>): Promise<RedisClients> {
    const clients = new RedisClients(url, log, (await import('redis')).createClient);
    try {
      await use(clients);
      clients.#started = true;
    } catch (cause) {
      await clients.close();
      throw unreachable(url, cause);
    }
    return clients;
  }

  /** A late publication is worthless, so it fails at once while Redis is unavailable. */
  publisher(): Promise<RedisClientType> {
    return this.#open({ disableOfflineQueue: true });
  }

  /** Subscriptions wait until Redis is back. */
  subscriber(): Promise<RedisClientType> {
    return this.#open({});
  }

  /** To be called after `io.close()`. Idempotent. */
  async close(): Promise<void> {
    this.#closing ??= Promise.all(this.#clients.map(closeClient));
    await this.#closing;
  }

  async #open(options: { disableOfflineQueue?: boolean }): Promise<RedisClientType> {
    const reconnectStrategy = (retries: number) =>
      this.#started && Math.min(RECONNECT_MAX_MS, 50 * 2 ** retries) * (0.5 + Math.random() / 2);
    const socket = { connectTimeout: CONNECT_TIMEOUT_MS, reconnectStrategy };
    const client = this.#createClient({ url: this.#url, socket, ...options });
    this.#clients.push(client);
    client.on('error', this.#onError);
    handleRejections(client, this.#onError);
    await client.connect();
    return client;
  }

  readonly #onError = (error: Error): void => {
    this.errors++;
    if (this.#started) this.#log.error({ cause: error.message }, 'redis');
  };
}

/** A graceful close waits for pending replies, which never come if the connection is lost meanwhile. */
async function closeClient(client: Pick<RedisClientType, 'isReady' | 'close' | 'destroy'>): Promise<void> {
  const timer = new AbortController();
  const late = delay(CLOSE_TIMEOUT_MS, undefined, { signal: timer.signal }).catch(() => {});
  if (client.isReady) await Promise.race([client.close(), late]);
  timer.abort();
  client.destroy();
}

/** The adapters ignore the promises of these: a rejection would end the process. */
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

function handleRejections(client: object, onError: (error: Error) => void): void {
  const methods = client as Record<string, (...args: unknown[]) => Promise<unknown>>;
  for (const name of UNWATCHED) {
    const method = methods[name]?.bind(client);
    methods[name] = (...args) => method?.(...args).catch(onError) ?? Promise.resolve();
  }
}

function unreachable(url: string, cause: unknown): CapacityError {
  return new CapacityError(
    'REDIS_UNREACHABLE',
    `no Redis server answers at ${withoutPassword(url)}`,
    'start Redis there (`redis-server --port <port>`), correct REDIS_URL, or choose CAPACITY_ADAPTER=in-memory',
    { cause },
  );
}

function withoutPassword(url: string): string {
  const shown = new URL(url);
  if (shown.password) shown.password = '***';
  return shown.href;
}
