/** `@socket.io/redis-adapter`: every worker gets every broadcast. */
import { defineAdapter } from './adapter.ts';
import { packageOf } from './package-of.ts';
import { RedisClients, redisEnvironment } from './redis-clients.ts';

export const redis = defineAdapter({
  help: '`@socket.io/redis-adapter`: to all workers, by publish and subscribe',
  clustered: true,
  recovers: false,
  environment: redisEnvironment,
  /** While Redis is away, broadcasts stay on their worker. @throws CapacityError REDIS_UNREACHABLE */
  async connect(io, { REDIS_URL: url, CAPACITY_REDIS_PREFIX: key }, log) {
    const { createAdapter } = await import('@socket.io/redis-adapter');
    const clients = await RedisClients.connect(url, log, async (redis) => {
      const [pub, sub] = await Promise.all([redis.publisher(), redis.subscriber()]);
      io.adapter(createAdapter(pub, sub, { key }));
    });
    return {
      nameAndVersion: packageOf('@socket.io/redis-adapter'),
      errors: () => clients.errors,
      close: () => clients.close(),
    };
  },
});
