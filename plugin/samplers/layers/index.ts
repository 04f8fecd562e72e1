/** All layers, in the order of tables. */
import { LAYER_NAMES, type LayerName, NAMED_LAYERS } from '../../../protocol/named-layers.ts';
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
      metric: 'redis',
      sampleKey: 'usedMemoryBytes',
      from: [{ source: 'INFO of Redis', read: async ({ redis }) => (await redis()).usedMemoryBytes }],
    },
    {
      id: 'redisClientBuffers',
      title: 'Redis subscribers',
      from: [{ source: 'CLIENT LIST of Redis', read: async ({ redis }) => listed((await redis()).pubSubTotalBytes) }],
    },
  ],
  counts: [
    { id: 'redisKeys', title: 'Redis keys', read: async ({ redis }) => (await redis()).keys },
    { id: 'redisChannels', title: 'Redis channels', read: async ({ redis }) => (await redis()).channels },
    { id: 'redisPatterns', title: 'Redis patterns', read: async ({ redis }) => (await redis()).patterns },
    { id: 'redisClients', title: 'Redis clients', read: async ({ redis }) => (await redis()).clients },
  ],
  sample: async ({ redis }) => {
    const { usedMemoryBytes, pubSubOutputBytes } = await redis();
    return { usedMemoryBytes, ...(pubSubOutputBytes !== undefined && { outputBufferBytes: pubSubOutputBytes }) };
  },
};

/** What is particular about some of them. */
const PARTICULARS: { [name in LayerName]?: Partial<Parameters<typeof exportedLayer>[0]> } = {
  nginx: { pss: { main: true, metric: 'nginx' } },
  haproxy: {
    told: [{ figure: 'poolBytes', id: 'haproxyPools', title: 'HAProxy pools', main: true, onlyMetrics: true }],
  },
  redis: {
    tellers: [{ source: 'INFO of Redis', tell: async ({ redis }) => ({ rssBytes: (await redis()).rssBytes }) }],
  },
};

const nameable = LAYER_NAMES.map((id) => {
  const { title, isProxy, ofStack } = NAMED_LAYERS[id];
  const onlyNamed = !ofStack && { onlyNamed: true as const };
  return exportedLayer({ id, title, ...onlyNamed, pss: { main: isProxy }, ...PARTICULARS[id] });
});

/** Those of every run, and those that settings can name. */
export const LAYERS: readonly Layer[] = [
  worker,
  ...nameable,
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

/** @throws Error where the user of this run may not list the clients */
function listed(bytes: number | undefined): number {
  if (bytes !== undefined) return bytes;
  throw new Error('Redis does not let this user list its clients');
}
