/**
 * `@socket.io/redis-adapter`: by publish and subscribe, or on Redis 7's sharded channels, where a worker subscribes to one
 * channel for all rooms, or to another one for each of its rooms.
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
    /** While Redis is away, broadcasts stay on their worker. @throws CapacityError REDIS_UNREACHABLE */
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

/** @param subscriptionMode `dynamic-private` also subscribes to the room that each connection has to itself */
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
  '`@socket.io/redis-adapter`: to all workers, by sharded publish and subscribe (Redis 7.0 or newer, as the next two)',
);
export const shardedDynamic = sharded('dynamic', 'likewise, to the workers with members: a channel for each room');
export const shardedDynamicPrivate = sharded(
  'dynamic-private',
  'likewise, with a channel for the room that each connection has to itself, too',
);
