/** What the adapter's Redis reports about its memory, wherever it runs. */
import type { Layer } from './layer.ts';

export const redisServer: Layer = {
  id: 'redisServer',
  title: 'Redis server',
  belongsTo: 'deployment',
  figures: [
    {
      id: 'redisUsedMemory',
      title: 'Redis used_memory',
      main: true,
      metric: 'memory.redis.bytes_per_connection',
      sampleKey: 'usedMemoryBytes',
      source: 'INFO of Redis',
      read: async ({ redis }) => (await redis()).usedMemoryBytes,
    },
    {
      id: 'redisClientBuffers',
      title: 'Redis subscribers',
      source: 'CLIENT LIST of Redis',
      read: async ({ redis }) => (await redis()).pubSubTotalBytes,
    },
  ],
  sample: async ({ redis }) => {
    const { usedMemoryBytes, pubSubOutputBytes } = await redis();
    return { usedMemoryBytes, outputBufferBytes: pubSubOutputBytes };
  },
};
