/** `@socket.io/redis-streams-adapter`: broadcasts go through a stream, which every worker reads from where it was. */
import { defineAdapter, packageOf } from './adapter.ts';
import { type AnyRedisClient, connectRedis, redisEnvironment } from './redis-clients.ts';

export const redisStreams = defineAdapter({
  help: '`@socket.io/redis-streams-adapter`: to all workers, in a stream of 10,000 entries; can restore sessions',
  clustered: true,
  recovers: true,
  environment: redisEnvironment,
  /**
   * While Redis is away, broadcasts stay on their worker. A worker that was cut off reads on in the stream.
   * @throws CapacityError REDIS_UNREACHABLE
   */
  async connect(io, { REDIS_URL: url, CAPACITY_REDIS_PREFIX: prefix }, log) {
    const { createAdapter } = await import('@socket.io/redis-streams-adapter');
    let stopReading = () => {};
    const clients = await connectRedis(url, log, async (redis) => {
      const [pub, reader, sub] = await Promise.all([redis.publisher(), redis.subscriber(), redis.subscriber()]);
      const reads = readyOnFirstRead(reader);
      // A graceful close would wait for a reply, for which the adapter asks Redis to wait for seconds.
      stopReading = () => reader.destroy();
      // The adapter makes its reader and its subscriber itself, in this order; ours count their errors, and close.
      const own = [reader, sub];
      pub.duplicate = () => connected(own.shift() as AnyRedisClient) as never;
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

/** The adapter connects what it makes, and disconnects it when it closes; here, both are done by their owner. */
function connected(client: AnyRedisClient): AnyRedisClient {
  return Object.assign(client, { connect: async () => client, disconnect: async () => {} });
}

/** @returns when the adapter has asked for the first time, from when on it misses nothing */
function readyOnFirstRead(client: AnyRedisClient): Promise<void> {
  const first = Promise.withResolvers<void>();
  const xRead = client.xRead.bind(client) as (...args: unknown[]) => Promise<unknown>;
  const read = (...args: unknown[]) => {
    first.resolve();
    // The adapter asks again at once, however the last request ended: that must not go on for ever.
    return client.isOpen ? xRead(...args) : new Promise(() => {});
  };
  Object.assign(client, { xRead: read });
  return first.promise;
}
