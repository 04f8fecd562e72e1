/** `@socket.io/redis-streams-adapter`: broadcasts go through a Redis stream, in which every worker continues from its last position. */
import { defineAdapter, packageOf } from './adapter.ts';
import { type AnyRedisClient, connectRedis, redisEnvironment } from './redis-clients.ts';

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
