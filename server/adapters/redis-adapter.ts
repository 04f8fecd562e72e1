/**
 * Adapters that use Redis, by the package `@socket.io/redis-adapter`. They use plain publish/subscribe, or the sharded
 * publish/subscribe of Redis 7 with one channel for all rooms or one per room.
 */
import { type AdapterKind, adapterPackage, defineAdapter } from './adapter.ts';
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
    /**
     * Connects the adapter. While Redis is unavailable, broadcasts reach only members on the publishing worker.
     * @throws CapacityError REDIS_UNREACHABLE
     */
    async connect(io, { REDIS_URL: url, CAPACITY_REDIS_PREFIX: prefix }, log) {
      const library = await import('@socket.io/redis-adapter');
      const { errors, close } = await connectRedis(url, log, async (redis) => {
        io.adapter(create(library, await Promise.all([redis.publisher(), redis.subscriber()]), prefix));
      });
      return { nameAndVersion: adapterPackage('@socket.io/redis-adapter') + name, errors, close };
    },
  });
}

export const redisAdapter = publishAndSubscribe(
  '`@socket.io/redis-adapter`: to all workers, by publish and subscribe',
  '',
  ({ createAdapter }, [pub, sub], key) => createAdapter(pub, sub, { key }),
);

/** @param subscriptionMode `dynamic-private` also subscribes to the private room of each connection */
function sharded(subscriptionMode: 'static' | 'dynamic' | 'dynamic-private', help: string): AdapterKind {
  return publishAndSubscribe(
    help,
    `, sharded, ${subscriptionMode}`,
    ({ createShardedAdapter }, [pub, sub], channelPrefix) =>
      createShardedAdapter(pub, sub, { channelPrefix, subscriptionMode }),
  );
}

export const shardedStaticAdapter = sharded(
  'static',
  '`@socket.io/redis-adapter`: to all workers, by sharded publish and subscribe (Redis 7.0 or newer)',
);
export const shardedDynamicAdapter = sharded(
  'dynamic',
  'the same, with a channel for each room: only workers with members receive a broadcast',
);
export const shardedDynamicPrivateAdapter = sharded(
  'dynamic-private',
  'the same, with a channel for each connection’s private room, too',
);

/**
 * Adapter `@socket.io/redis-streams-adapter`. Broadcasts go through a Redis stream, and each worker reads on from its
 * last position.
 */
export const redisStreamsAdapter = defineAdapter({
  help: '`@socket.io/redis-streams-adapter`: to all workers, in a stream of 10,000 entries; can restore sessions',
  clustered: true,
  recovers: true,
  environment: redisEnvironment,
  /**
   * Connects the adapter. While Redis is unavailable, broadcasts reach only members on the publishing worker. After a
   * disconnect, a worker reads on from its last position in the stream.
   * @throws CapacityError REDIS_UNREACHABLE
   */
  async connect(io, { REDIS_URL: url, CAPACITY_REDIS_PREFIX: prefix }, log) {
    const { createAdapter } = await import('@socket.io/redis-streams-adapter');
    let stopReading = () => {};
    const clients = await connectRedis(url, log, async (redis) => {
      const [pub, reader, sub] = await Promise.all([redis.publisher(), redis.subscriber(), redis.subscriber()]);
      const reads = readyOnFirstRead(reader);
      // Destroys the client. A graceful close would wait for the adapter's pending read, which blocks in Redis for
      // seconds.
      stopReading = () => reader.destroy();
      // The adapter duplicates its client twice, for a reader and a subscriber. It gets clients of this file instead,
      // which count errors and are closed here.
      const duplicates = [reader, sub];
      pub.duplicate = () => connected(duplicates.shift() as AnyRedisClient) as never;
      io.adapter(createAdapter(pub, { streamName: prefix, channelPrefix: prefix }));
      await reads;
    });
    const close = () => {
      stopReading();
      return clients.close();
    };
    const nameAndVersion = adapterPackage('@socket.io/redis-streams-adapter');
    return { nameAndVersion, stream: prefix, errors: clients.errors, close };
  },
});

/** Disables the adapter's own connect and disconnect, because the clients are opened and closed here. */
function connected(client: AnyRedisClient): AnyRedisClient {
  return Object.assign(client, { connect: async () => client, disconnect: async () => {} });
}

/** Resolves at the adapter's first read. The adapter misses no broadcast after it. */
function readyOnFirstRead(client: AnyRedisClient): Promise<void> {
  const first = Promise.withResolvers<void>();
  const xRead = client.xRead.bind(client) as (...args: unknown[]) => Promise<unknown>;
  const read = (...args: unknown[]) => {
    first.resolve();
    // The adapter reads again after every error. A closed client returns a promise that never settles, which ends this
    // loop.
    return client.isOpen ? xRead(...args) : new Promise(() => {});
  };
  Object.assign(client, { xRead: read });
  return first.promise;
}
