/** All adapters that `CAPACITY_ADAPTER` can choose. A new adapter needs its own file and an entry here. */
import { z } from 'zod';
import { type AdapterKind, defineAdapter } from './adapter.ts';
import {
  redisAdapter,
  redisStreamsAdapter,
  shardedDynamicAdapter,
  shardedDynamicPrivateAdapter,
  shardedStaticAdapter,
} from './redis-adapter.ts';

const inMemory = defineAdapter({
  help: 'Socket.IO’s own: a broadcast reaches the members on the worker that publishes it',
  clustered: false,
  recovers: true,
  environment: z.object({}),
  connect: async () => ({ nameAndVersion: 'in-memory', errors: () => 0, close: async () => {} }),
});

export const ADAPTERS = {
  'in-memory': inMemory,
  redis: redisAdapter,
  'redis-sharded-static': shardedStaticAdapter,
  'redis-sharded-dynamic': shardedDynamicAdapter,
  'redis-sharded-dynamic-private': shardedDynamicPrivateAdapter,
  'redis-streams': redisStreamsAdapter,
} satisfies Record<string, AdapterKind>;

export type AdapterName = keyof typeof ADAPTERS;
