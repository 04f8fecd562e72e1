/**
 * The sharded adapter of `@socket.io/redis-adapter`, on Redis 7's sharded channels, by what a worker subscribes to: one
 * channel for all rooms, or another one for each of its rooms.
 */
import { type AdapterKind, defineAdapter } from './adapter.ts';
import { packageOf } from './package-of.ts';
import { RedisClients, redisEnvironment } from './redis-clients.ts';

const HELP = {
  static:
    '`@socket.io/redis-adapter`: to all workers, by sharded publish and subscribe (Redis 7.0 or newer, as the next two)',
  dynamic: 'likewise, to the workers with members: a channel for each room',
  'dynamic-private': 'likewise, with a channel for the room that each connection has to itself, too',
};

/** @param subscriptionMode `dynamic-private` also subscribes to the room that each connection has to itself */
function sharded(subscriptionMode: 'static' | 'dynamic' | 'dynamic-private'): AdapterKind {
  return defineAdapter({
    help: HELP[subscriptionMode],
    clustered: true,
    recovers: false,
    environment: redisEnvironment,
    /** While Redis is away, broadcasts stay on their worker. @throws CapacityError REDIS_UNREACHABLE */
    async connect(io, { REDIS_URL: url, CAPACITY_REDIS_PREFIX: channelPrefix }, log) {
      const { createShardedAdapter } = await import('@socket.io/redis-adapter');
      const clients = await RedisClients.connect(url, log, async (redis) => {
        const [pub, sub] = await Promise.all([redis.publisher(), redis.subscriber()]);
        io.adapter(createShardedAdapter(pub, sub, { channelPrefix, subscriptionMode }));
      });
      const nameAndVersion = `${packageOf('@socket.io/redis-adapter')}, sharded, ${subscriptionMode}`;
      return { nameAndVersion, errors: () => clients.errors, close: () => clients.close() };
    },
  });
}

export const shardedStatic = sharded('static');
export const shardedDynamic = sharded('dynamic');
export const shardedDynamicPrivate = sharded('dynamic-private');
