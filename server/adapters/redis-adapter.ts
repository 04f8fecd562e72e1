/**
 * Adapters through Redis. `@socket.io/redis-adapter`: by plain publish/subscribe, or by the sharded publish/subscribe of Redis 7, with one
 * channel for all rooms or a channel for each room.
 */
import { type AdapterKind, defineAdapter, packageOf } from './adapter.ts';
import { type AnyRedisClient, connectRedis, redisEnvironment } from './redis-clients.ts';

type Library = typeof import('@socket.io/redis-adapter');
type Create = (
  library: Library,
  clients: [pub: AnyRedisClient, sub: AnyRedisClient],
  prefix: string,
) => ReturnType<Library['createAdapter' | 'createShardedAdapter']>;

function publishAndSubscribe(help: string, name: string, create: Create): AdapterKind {
  return defineAdapter({
    help,
    clustered: true,
    recovers: false,
    environment: redisEnvironment,
    /** While Redis is unavailable, broadcasts reach only members on the publishing worker. @throws CapacityError REDIS_UNREACHABLE */
    async connect(io, { REDIS_URL: url, CAPACITY_REDIS_PREFIX: prefix }, log) {
      const library = await import('@socket.io/redis-adapter');
      const { errors, close } = await connectRedis(url, log, async (redis) => {
        io.adapter(create(library, await Promise.all([redis.publisher(), redis.subscriber()]), prefix));
      });
      return { nameAndVersion: packageOf('@socket.io/redis-adapter') + name, errors, close };
    },
  });
}

export const redis = publishAndSubscribe(
  '`@socket.io/redis-adapter`: to all workers, by publish and subscribe',
  '',
  ({ createAdapter }, [pub, sub], key) => createAdapter(pub, sub, { key }),
);

/** @param subscriptionMode `dynamic-private` also subscribes to each connection's private room */
function sharded(subscriptionMode: 'static' | 'dynamic' | 'dynamic-private', help: string): AdapterKind {
  return publishAndSubscribe(
    help,
    `, sharded, ${subscriptionMode}`,
    ({ createShardedAdapter }, [pub, sub], channelPrefix) =>
      createShardedAdapter(pub, sub, { channelPrefix, subscriptionMode }),
  );
}

export const shardedStatic = sharded(
  'static',
  '`@socket.io/redis-adapter`: to all workers, by sharded publish and subscribe (Redis 7.0 or newer)',
);
export const shardedDynamic = sharded(
  'dynamic',
  'the same, with a channel for each room: only workers with members receive a broadcast',
);
export const shardedDynamicPrivate = sharded(
  'dynamic-private',
  'the same, with a channel for each connection’s private room, too',
);

/** `@socket.io/redis-streams-adapter`: broadcasts go through a Redis stream, in which every worker continues from its last position. */
export const redisStreams = defineAdapter({
  help: '`@socket.io/redis-streams-adapter`: to all workers, in a stream of 10,000 entries; can restore sessions',
  clustered: true,
  recovers: true,
  environment: redisEnvironment,
  /**
   * While Redis is unavailable, broadcasts reach only members on the publishing worker. After a disconnect, a worker continues in the
   * stream.
   * @throws CapacityError REDIS_UNREACHABLE
   */
  async connect(io, { REDIS_URL: url, CAPACITY_REDIS_PREFIX: prefix }, log) {
    const { createAdapter } = await import('@socket.io/redis-streams-adapter');
    let stopReading = () => {};
    const clients = await connectRedis(url, log, async (redis) => {
      const [pub, reader, sub] = await Promise.all([redis.publisher(), redis.subscriber(), redis.subscriber()]);
      const reads = readyOnFirstRead(reader);
      // Destroyed, because a graceful close waits for the adapter's pending read, which blocks in Redis for seconds.
      stopReading = () => reader.destroy();
      // The adapter duplicates its client twice, for reader and subscriber. It gets ours, which count errors and are closed here.
      const duplicates = [reader, sub];
      pub.duplicate = () => connected(duplicates.shift() as AnyRedisClient) as never;
      io.adapter(createAdapter(pub, { streamName: prefix, channelPrefix: prefix }));
      await reads;
    });
    const close = () => {
      stopReading();
      return clients.close();
    };
    const nameAndVersion = packageOf('@socket.io/redis-streams-adapter');
    return { nameAndVersion, stream: prefix, errors: clients.errors, close };
  },
});

/** Turns the adapter's own connect and disconnect into no-ops, because the clients are owned here. */
function connected(client: AnyRedisClient): AnyRedisClient {
  return Object.assign(client, { connect: async () => client, disconnect: async () => {} });
}

/** Resolves at the adapter's first read; from then on it misses no broadcast. */
function readyOnFirstRead(client: AnyRedisClient): Promise<void> {
  const first = Promise.withResolvers<void>();
  const xRead = client.xRead.bind(client) as (...args: unknown[]) => Promise<unknown>;
  const read = (...args: unknown[]) => {
    first.resolve();
    // The adapter reads again even after an error. A closed client never answers, which ends that loop.
    return client.isOpen ? xRead(...args) : new Promise(() => {});
  };
  Object.assign(client, { xRead: read });
  return first.promise;
}
