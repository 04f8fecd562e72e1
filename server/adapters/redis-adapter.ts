/**
 * `@socket.io/redis-adapter`: by plain publish/subscribe, or by the sharded publish/subscribe of Redis 7, with one channel for all rooms or
 * a channel for each room.
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
