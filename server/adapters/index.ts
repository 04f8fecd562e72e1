/** All adapters that `CAPACITY_ADAPTER` can choose. To add one: write its file, add it here. */
import type { AdapterKind } from './adapter.ts';
import { inMemory } from './in-memory.ts';
import { redis } from './redis.ts';

export const ADAPTERS = { 'in-memory': inMemory, redis } satisfies Record<string, AdapterKind>;

export type AdapterName = keyof typeof ADAPTERS;
