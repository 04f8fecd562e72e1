/** All layers, in the order of tables. */
import { artillery } from './artillery.ts';
import { container } from './container.ts';
import { fleet } from './fleet.ts';
import { haproxy } from './haproxy.ts';
import { kernel } from './kernel.ts';
import type { Layer } from './layer.ts';
import { nginx } from './nginx.ts';
import { pm2 } from './pm2.ts';
import { redis } from './redis.ts';
import { redisServer } from './redis-server.ts';
import { system } from './system.ts';
import { worker } from './worker.ts';
import { workerMachines } from './worker-machines.ts';

/** Those of every run, and those that settings can name. */
export const LAYERS: readonly Layer[] = [
  worker,
  nginx,
  haproxy,
  redis,
  redisServer,
  pm2,
  kernel,
  fleet,
  artillery,
  system,
];

/**
 * @param named layers of which the settings name processes or pages of metrics
 * @returns the layers that a run can have, with the figures that they can have
 */
export function layersFor(named: Record<string, { prometheus?: unknown }>): readonly Layer[] {
  return LAYERS.filter(({ id, onlyNamed }) => !onlyNamed || id in named).map((layer) => ({
    ...layer,
    figures: layer.figures.filter(({ onlyMetrics }) => !onlyMetrics || named[layer.id]?.prometheus !== undefined),
  }));
}

/** Those that only some runs have. */
export const FURTHER_LAYERS = { container, workerMachines };
