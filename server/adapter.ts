/** The Redis adapter, with the two Redis connections it needs. */
import { createAdapter } from '@socket.io/redis-adapter';
import type { Logger } from 'pino';
import { createClient } from 'redis';
import type { Server } from 'socket.io';
import { CapacityError } from '../protocol/errors.ts';

const CONNECT_TIMEOUT_MS = 3000;
const RECONNECT_MAX_MS = 2000;

export interface RedisAdapter {
  /** Pass to `io.adapter()`. */
  adapter: NonNullable<Parameters<Server['adapter']>[0]>;
  /** Resolves when the subscriptions made until now are in force. */
  subscribed(): Promise<void>;
  /** Errors of both connections so far: lost connections, failed reconnections, commands that were not carried out. */
  errors(): number;
  /** After `io.close()`. Idempotent. */
  close(): Promise<void>;
}

/**
 * Connects to Redis. A connection lost later is logged, counted and made again; until then broadcasts stay on their worker.
 * @param prefix of the channels: the workers that share it are one cluster
 * @throws CapacityError REDIS_UNREACHABLE
 */
export async function connectRedisAdapter(url: string, prefix: string, log: Logger): Promise<RedisAdapter> {
  let errors = 0;
  let started = false;
  const onError = (error: Error) => {
    errors++;
    if (started) log.error({ cause: error.message }, 'redis');
  };
  const socket = {
    connectTimeout: CONNECT_TIMEOUT_MS,
    reconnectStrategy: (retries: number) =>
      started && Math.min(RECONNECT_MAX_MS, 50 * 2 ** retries) * (0.5 + Math.random() / 2),
  };
  // A publication is worth nothing once it is late, so that it fails at once while Redis is away. Subscriptions wait.
  const pub = createClient({ url, socket, disableOfflineQueue: true });
  const sub = createClient({ url, socket });
  for (const client of [pub, sub]) {
    client.on('error', onError);
    handleRejections(client, onError);
  }

  const close = async () => {
    for (const client of [pub, sub]) {
      // A polite close waits for an answer, which a lost connection never gives.
      if (client.isReady) await client.close().catch(onError);
      else if (client.isOpen) client.destroy();
    }
  };
  try {
    await Promise.all([pub.connect(), sub.connect()]);
  } catch (cause) {
    await close();
    throw unreachable(url, cause);
  }
  started = true;
  return {
    adapter: createAdapter(pub, sub, { key: prefix }),
    subscribed: async () => void (await sub.ping()),
    errors: () => errors,
    close,
  };
}

/** What the adapter calls without looking at the promise: a rejection would end the process. */
const UNWATCHED = ['publish', 'subscribe', 'pSubscribe', 'unsubscribe', 'pUnsubscribe'] as const;

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
    'start Redis there (`redis-server --port <port>`), correct REDIS_URL, or unset it for the in-memory adapter',
    { cause },
  );
}

function withoutPassword(url: string): string {
  const shown = new URL(url);
  if (shown.password) shown.password = '***';
  return shown.href;
}
