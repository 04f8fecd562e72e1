/**
 * Table of all layers: their figures and sources, in the order of reports. A layer is a part of the deployment or of
 * the machine, such as the workers or the kernel.
 */
import {
  LAYER_NAMES,
  type LayerName,
  layerFigureTitle,
  NAMED_LAYERS,
  WORKERS_TITLE,
} from '../../../protocol/documents/named-layers.ts';
import type { Layer, LayerFigure } from './layer.ts';
import {
  generatorCgroupSource,
  inspectorSources,
  kernelSources,
  machineSources,
  metricsPageSource,
  processSource,
  redisInfoSource,
  workerContainersSource,
  workerMachinesSource,
  workerPagesSource,
  workerProcessSource,
  workerStatsSource,
} from './layer-sources.ts';

type Shown = Pick<LayerFigure, 'main' | 'metric'>;
interface ProcessLayer extends Omit<Layer, 'figures' | 'sources' | 'isProcesses' | 'sampled'> {
  pss?: Shown;
  rss?: Shown;
  /** Figures and sources of a layer, in addition to the figures of its processes on this machine. */
  figures?: LayerFigure[];
  sources?: Layer['sources'];
  sampled?: string[];
}

/**
 * Returns a layer that consists of processes, with CPU time and the memory figures `<id>Pss` and `<id>Rss`. The time
 * series contains both figures. PSS is part of the sum that is compared with the machine's memory.
 */
export function defineProcessLayer({
  pss,
  rss,
  figures = [],
  sources = [],
  sampled = [],
  ...layer
}: ProcessLayer): Layer {
  const { id, title } = layer;
  return {
    ...layer,
    isProcesses: true,
    sources: [processSource(id), ...sources],
    figures: [
      { id: `${id}Pss`, title: layerFigureTitle(title, 'Pss'), measure: 'pssBytes', inSum: true, ...pss },
      { id: `${id}Rss`, title: layerFigureTitle(title, 'Rss'), measure: 'rssBytes', ...rss },
      ...figures,
    ],
    sampled: ['rssBytes', 'pssBytes', ...sampled],
  };
}

/** Returns the figures that node_exporter reports for the hosts of a layer. */
function hostFigures(id: string, title: string): LayerFigure[] {
  const onlyMetrics = true;
  return [
    { id: `${id}HostUsed`, title: `${title} hosts, used`, measure: 'hostUsedBytes', onlyMetrics },
    { id: `${id}HostTcp`, title: `${title} hosts, TCP buffers`, measure: 'hostTcpBytes', onlyMetrics },
  ];
}

/** The Socket.IO workers. The run tries their sources in this order. */
const worker = defineProcessLayer({
  id: 'worker',
  title: WORKERS_TITLE,
  belongsTo: 'deployment',
  containsWorkers: true,
  sources: [
    workerProcessSource,
    workerStatsSource,
    ...inspectorSources,
    metricsPageSource('worker'),
    workerPagesSource,
    workerContainersSource,
  ],
  counts: [
    { id: 'workerConnections', title: 'connections that the workers count', measure: 'connections' },
    { id: 'workerRooms', title: 'rooms of the workers', measure: 'rooms' },
    { id: 'workerNamespaces', title: 'namespaces of the workers', measure: 'namespaces' },
    { id: 'workerFiles', title: 'open files and sockets of the workers', measure: 'openFiles' },
  ],
  pss: { main: true, metric: 'worker_pss' },
  rss: { main: true, metric: 'worker' },
  figures: [
    { id: 'workerMalloc', title: 'Workers malloc heap', measure: 'mallocBytes' },
    { id: 'workerCode', title: 'Workers compiled code', measure: 'codeBytes' },
    { id: 'workerKept', title: 'Workers kept memory', measure: 'keptBytes' },
    { id: 'workerChildrenPss', title: 'Workers child processes PSS', measure: 'childrenPssBytes' },
    {
      id: 'workerHeapUsed',
      title: layerFigureTitle(WORKERS_TITLE, 'HeapUsed'),
      measure: 'heapUsedBytes',
      main: true,
      metric: 'worker_heap',
    },
    { id: 'workerExternal', title: 'Workers external', measure: 'externalBytes' },
    {
      id: 'workerWorkingSet',
      title: 'Workers container working set',
      measure: 'workingSetBytes',
      main: true,
      metric: 'worker_container',
    },
    ...hostFigures('worker', WORKERS_TITLE),
  ],
  sampled: ['workingSetBytes', 'hostUsedBytes'],
});

/** Figures and sources that only some layers have, for layers that the user's settings can name. */
const SPECIAL: { [name in LayerName]?: Partial<ProcessLayer> } = {
  nginx: { pss: { main: true, metric: 'nginx' } },
  haproxy: {
    figures: [{ id: 'haproxyPools', title: 'HAProxy pools', measure: 'poolBytes', main: true, onlyMetrics: true }],
  },
  redis: { sources: [redisInfoSource] },
};

const nameable = LAYER_NAMES.map((id) => {
  const { title, isProxy, ofStack } = NAMED_LAYERS[id];
  const { figures = [], sources = [], ...special } = SPECIAL[id] ?? {};
  return defineProcessLayer({
    ...{ id, title, belongsTo: 'deployment' },
    ...(!ofStack && { onlyNamed: true }),
    pss: { main: isProxy },
    ...special,
    sources: [metricsPageSource(id), ...sources],
    figures: [...figures, ...hostFigures(id, title)],
    sampled: ['hostUsedBytes'],
  });
});

const redisServer: Layer = {
  id: 'redisServer',
  title: 'Redis server',
  belongsTo: 'deployment',
  sources: [redisInfoSource],
  figures: [
    { id: 'redisUsedMemory', title: 'Redis used_memory', measure: 'usedMemoryBytes', main: true, metric: 'redis' },
    { id: 'redisClientBuffers', title: 'Redis subscribers', measure: 'pubSubTotalBytes' },
  ],
  counts: [
    { id: 'redisKeys', title: 'Redis keys', measure: 'keys' },
    { id: 'redisChannels', title: 'Redis channels', measure: 'channels' },
    { id: 'redisPatterns', title: 'Redis patterns', measure: 'patterns' },
    { id: 'redisClients', title: 'Redis clients', measure: 'clients' },
  ],
  sampled: ['usedMemoryBytes', 'outputBufferBytes', 'channels', 'patterns'],
};

/** Kernel memory of sockets and processes. On a single machine, it includes both ends of every connection. */
const kernel: Layer = {
  id: 'kernel',
  title: 'Kernel',
  belongsTo: 'machine',
  sources: kernelSources,
  counts: [{ id: 'kernelSockets', title: 'TCP sockets of the machine', measure: 'sockets' }],
  figures: [
    { id: 'kernelSlab', title: 'Kernel socket slabs', measure: 'slabBytes', inSum: true, main: true },
    {
      ...{ id: 'kernelTcp', title: 'Kernel TCP buffers', measure: 'tcpBytes' },
      ...{ inSum: true, main: true, metric: 'kernel_tcp' },
    },
    { id: 'kernelPageTables', title: 'Kernel page tables', measure: 'pageTablesBytes', inSum: true },
  ],
};

const system: Layer = {
  id: 'system',
  title: 'Whole machine',
  belongsTo: 'machine',
  containsWorkers: true,
  hasCpu: true,
  sources: machineSources,
  figures: [
    { id: 'systemUsed', title: 'Whole machine', measure: 'usedBytes', main: true, metric: 'system' },
    { id: 'systemHeld', title: 'Whole machine, held', measure: 'heldBytes', main: true },
    { id: 'systemPrograms', title: 'All programs of the machine', measure: 'programsBytes' },
    { id: 'systemShared', title: 'Shared memory of the machine', measure: 'sharedBytes' },
    { id: 'systemUnmeasured', title: 'Programs that no layer includes', measure: 'unmeasuredBytes' },
    {
      id: 'systemUnmeasuredShared',
      title: 'Shared memory that no layer includes',
      measure: 'unmeasuredSharedBytes',
    },
    { id: 'systemKernel', title: 'Kernel memory that cannot be reclaimed', measure: 'kernelBytes' },
  ],
  sampled: ['usedBytes'],
};

/** Layers of every run, and layers that the user's settings can name. */
export const LAYERS: readonly Layer[] = [
  worker,
  ...nameable,
  redisServer,
  defineProcessLayer({ id: 'pm2', title: 'PM2 daemon', belongsTo: 'deployment' }),
  kernel,
  defineProcessLayer({ id: 'fleet', title: 'Generator fleet', belongsTo: 'generator' }),
  defineProcessLayer({ id: 'artillery', title: 'Artillery', belongsTo: 'generator' }),
  system,
];

export const FURTHER_LAYERS = {
  /** Container of the generator, with all programs in it. Only in a run whose container has a memory limit. */
  container: {
    id: 'container',
    title: 'Container of the generator',
    belongsTo: 'machine',
    sources: [generatorCgroupSource],
    figures: [{ id: 'containerUsed', title: 'Container of the generator', measure: 'usedBytes' }],
    sampled: ['usedBytes'],
  },
  /** Other machines on which workers run, with all programs on these machines. */
  workerMachines: {
    id: 'workerMachines',
    title: "Workers' machines",
    belongsTo: 'deployment',
    containsWorkers: true,
    sources: [workerMachinesSource],
    figures: [
      { id: 'workerMachinesUsed', title: "Workers' machines", measure: 'usedBytes', main: true },
      { id: 'workerMachinesTcp', title: "Workers' machines, TCP buffers", measure: 'tcpBytes' },
    ],
  },
} satisfies Record<string, Layer>;

/**
 * Returns the layers and figures that the run can read.
 * @param named layers for which the settings name processes or metrics pages
 */
export function layersFor(named: Record<string, { prometheus?: unknown }>): readonly Layer[] {
  return LAYERS.filter(({ id, onlyNamed }) => !onlyNamed || id in named).map((layer) => ({
    ...layer,
    figures: layer.figures.filter(({ onlyMetrics }) => !onlyMetrics || named[layer.id]?.prometheus !== undefined),
  }));
}
