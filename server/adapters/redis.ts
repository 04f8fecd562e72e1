/** `@socket.io/redis-adapter`, with the two Redis connections it needs. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { RedisClientType } from 'redis';
import type { Server } from 'socket.io';
import { z } from 'zod';
import { CapacityError } from '../../protocol/errors.ts';
import { type ConnectedAdapter, defineAdapter } from './adapter.ts';

const CONNECT_TIMEOUT_MS = 3000;
const RECONNECT_MAX_MS = 2000;
const CLOSE_TIMEOUT_MS = 1000;

const environment = z.object({
  REDIS_URL: z.url({ protocol: /^rediss?$/, error: 'must be redis://host:port or rediss://host:port' }),
  /** Prefix of the channels: workers with the same one form a cluster. */
  CAPACITY_REDIS_PREFIX: z.string().default('socket.io'),
});

export const redis = defineAdapter({ clustered: true, recovers: false, environment, connect });

/**
 * A connection that is lost later is logged, counted and restored; meanwhile broadcasts stay on their worker.
 * @throws CapacityError REDIS_UNREACHABLE
 */
async function connect(io: Server, settings: z.output<typeof environment>, log: Logger): Promise<ConnectedAdapter> {
  const { REDIS_URL: url, CAPACITY_REDIS_PREFIX: key } = settings;
  const [{ createAdapter }, { createClient }] = await Promise.all([
    import('@socket.io/redis-adapter'),
    import('redis'),
  ]);
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
  // A late publication is worthless, so it fails at once while Redis is unavailable. Subscriptions wait.
  const pub = createClient({ url, socket, disableOfflineQueue: true });
  const sub = createClient({ url, socket });
  for (const client of [pub, sub]) {
    client.on('error', onError);
    handleRejections(client, onError);
  }

  let closing: Promise<unknown> | undefined;
  const close = async () => {
    closing ??= Promise.all([pub, sub].map(closeClient));
    await closing;
  };
  try {
    await Promise.all([pub.connect(), sub.connect()]);
    started = true;
    io.adapter(createAdapter(pub, sub, { key }));
    // Redis answers in order, so the earlier subscriptions are active now.
    await sub.ping();
  } catch (cause) {
    await close();
    throw unreachable(url, cause);
  }
  return { errors: () => errors, close };
}

/** A graceful close waits for pending replies, which never come if the connection is lost meanwhile. */
async function closeClient(client: Pick<RedisClientType, 'isReady' | 'close' | 'destroy'>): Promise<void> {
  const timer = new AbortController();
  const late = delay(CLOSE_TIMEOUT_MS, undefined, { signal: timer.signal }).catch(() => {});
  if (client.isReady) await Promise.race([client.close(), late]);
  timer.abort();
  client.destroy();
}

/** The adapter ignores the promises of these: a rejection would end the process. */
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
    'start Redis there (`redis-server --port <port>`), correct REDIS_URL, or choose CAPACITY_ADAPTER=in-memory',
    { cause },
  );
}

function withoutPassword(url: string): string {
  const shown = new URL(url);
  if (shown.password) shown.password = '***';
  return shown.href;
}
