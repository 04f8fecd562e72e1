/** All adapters that `CAPACITY_ADAPTER` can choose. To add one: write its file, add it here. */
import type { AdapterKind } from './adapter.ts';
import { inMemory } from './in-memory.ts';
import { redis } from './redis.ts';
import { shardedDynamic, shardedDynamicPrivate, shardedStatic } from './redis-sharded.ts';
import { redisStreams } from './redis-streams.ts';

export const ADAPTERS = {
  'in-memory': inMemory,
  redis,
  'redis-sharded-static': shardedStatic,
  'redis-sharded-dynamic': shardedDynamic,
  'redis-sharded-dynamic-private': shardedDynamicPrivate,
  'redis-streams': redisStreams,
} satisfies Record<string, AdapterKind>;

export type AdapterName = keyof typeof ADAPTERS;
