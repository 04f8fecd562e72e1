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

/** Those of every run, and of observers. */
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
 * @param observed layers that have an observer
 * @returns the layers that a run can have: without what only an observer tells
 */
export function layersFor(observed: readonly string[]): readonly Layer[] {
  return LAYERS.filter(({ id, onlyObserved }) => !onlyObserved || observed.includes(id)).map((layer) =>
    observed.includes(layer.id)
      ? layer
      : { ...layer, figures: layer.figures.filter(({ onlyObserved }) => !onlyObserved) },
  );
}

/** Those that only some runs have. */
export const FURTHER_LAYERS = { container, workerMachines };
