/** All layers, in the order of tables. */
import { artillery } from './artillery.ts';
import { fleet } from './fleet.ts';
import { kernel } from './kernel.ts';
import type { Layer } from './layer.ts';
import { nginx } from './nginx.ts';
import { pm2 } from './pm2.ts';
import { redis } from './redis.ts';
import { redisServer } from './redis-server.ts';
import { system } from './system.ts';
import { worker } from './worker.ts';

export const LAYERS: readonly Layer[] = [worker, nginx, redis, redisServer, pm2, kernel, fleet, artillery, system];
