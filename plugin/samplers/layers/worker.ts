/** The Socket.IO workers. */
import type { WorkerStats } from '../../../protocol/events.ts';
import { PROMETHEUS_METRICS, type PrometheusFigure } from '../prometheus.ts';
import type { Sources } from '../sources.ts';
import type { Figure } from './layer.ts';
import { processLayer } from './processes.ts';

type Reported = Pick<Figure, 'source' | 'read'>;

export const worker = processLayer({
  id: 'worker',
  title: 'Workers',
  belongsTo: 'deployment',
  containsWorkers: true,
  pss: { main: true, metric: 'memory.worker_pss.bytes_per_connection' },
  rss: { main: true, metric: 'memory.worker.bytes_per_connection' },
  rssElsewhere: [byThemselves((stats) => stats.rssBytes), inMetrics('rssBytes')],
  sampleElsewhere: async ({ prometheus }) => {
    const { rssBytes, workingSetBytes } = (await prometheus()).figures;
    return { ...(rssBytes !== undefined && { rssBytes }), ...(workingSetBytes !== undefined && { workingSetBytes }) };
  },
  cpuElsewhere: async (sources) => ({ busyUs: (await cpuSeconds(sources)) * 1e6 }),
  figures: [
    {
      id: 'workerHeapUsed',
      title: 'Workers V8 heap',
      main: true,
      metric: 'memory.worker_heap.bytes_per_connection',
      ...byThemselves((stats) => stats.heapUsedBytes),
      elsewhere: [inMetrics('heapUsedBytes')],
    },
    {
      id: 'workerExternal',
      title: 'Workers external',
      ...byThemselves((stats) => stats.externalBytes),
      elsewhere: [inMetrics('externalBytes')],
    },
    {
      id: 'workerWorkingSet',
      title: 'Workers container working set',
      main: true,
      metric: 'memory.worker_container.bytes_per_connection',
      sampleKey: 'workingSetBytes',
      ...inMetrics('workingSetBytes'),
    },
  ],
});

function byThemselves(bytesOf: (stats: WorkerStats) => number): Reported {
  return {
    source: 'control port',
    read: async ({ workers }) => (await workers()).reduce((sum, stats) => sum + bytesOf(stats), 0),
  };
}

function inMetrics(figure: PrometheusFigure): Reported {
  const metric = PROMETHEUS_METRICS[figure];
  return {
    source: `Prometheus metric ${metric}`,
    read: async ({ prometheus }) => {
      const { [figure]: value } = (await prometheus()).figures;
      if (value === undefined) throw new Error(`not all metrics have ${metric}`);
      return value;
    },
  };
}

async function cpuSeconds({ prometheus }: Sources): Promise<number> {
  const { cpuSeconds, containerCpuSeconds = cpuSeconds } = (await prometheus()).figures;
  if (containerCpuSeconds === undefined) throw new Error('the metrics have no CPU time');
  return cpuSeconds ?? containerCpuSeconds;
}
