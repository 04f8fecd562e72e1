/** All layers, in the order of tables. */
import type { Layer } from './layer.ts';
import { container, kernel, system, workerMachines } from './machine.ts';
import { exportedLayer, processLayer } from './processes.ts';
import { worker } from './worker.ts';

/** What Redis reports about itself, wherever it runs. */
const redisServer: Layer = {
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
      from: [{ source: 'INFO of Redis', read: async ({ redis }) => (await redis()).usedMemoryBytes }],
    },
    {
      id: 'redisClientBuffers',
      title: 'Redis subscribers',
      from: [{ source: 'CLIENT LIST of Redis', read: async ({ redis }) => (await redis()).pubSubTotalBytes }],
    },
  ],
  sample: async ({ redis }) => {
    const { usedMemoryBytes, pubSubOutputBytes } = await redis();
    return { usedMemoryBytes, outputBufferBytes: pubSubOutputBytes };
  },
};

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
  exportedLayer({
    id: 'redis',
    title: 'Redis',
    tellers: [{ source: 'INFO of Redis', tell: async ({ redis }) => ({ rssBytes: (await redis()).rssBytes }) }],
  }),
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
