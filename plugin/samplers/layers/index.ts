/** All layers, in the order of tables. */
import type { Layer } from './layer.ts';
import { container, kernel, system } from './machine.ts';
import { exportedLayer, processLayer } from './processes.ts';
import { redis, redisServer } from './redis.ts';
import { worker } from './worker.ts';
import { workerMachines } from './worker-machines.ts';

/** Those of every run, and those that settings can name. */
export const LAYERS: readonly Layer[] = [
  worker,
  exportedLayer({ id: 'nginx', title: 'nginx', pss: { main: true, metric: 'memory.nginx.bytes_per_connection' } }),
  // No stack of ours has it.
  exportedLayer({
    id: 'haproxy',
    title: 'HAProxy',
    onlyNamed: true,
    pss: { main: true },
    told: [{ figure: 'poolBytes', id: 'haproxyPools', title: 'HAProxy pools', main: true, onlyMetrics: true }],
  }),
  redis,
  redisServer,
  processLayer({ id: 'pm2', title: 'PM2 daemon', belongsTo: 'deployment' }),
  kernel,
  processLayer({ id: 'fleet', title: 'Generator fleet', belongsTo: 'generator' }),
  processLayer({ id: 'artillery', title: 'Artillery', belongsTo: 'generator' }),
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
