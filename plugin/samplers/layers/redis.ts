/** The adapter's Redis: as a process, and what it reports about its memory, wherever it runs. */
import type { Layer } from './layer.ts';
import { exportedLayer } from './processes.ts';

export const redis = exportedLayer({
  id: 'redis',
  title: 'Redis',
  tellers: [{ source: 'INFO of Redis', tell: async ({ redis }) => ({ rssBytes: (await redis()).rssBytes }) }],
});

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
