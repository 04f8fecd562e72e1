/** The Socket.IO workers. */
import type { WorkerStats } from '../../../protocol/events.ts';
import { workerContainers } from '../control/worker-machines.ts';
import { NotInRun, PSS_UNREADABLE } from '../processes/memory.ts';
import { PROMETHEUS_METRICS, type PrometheusFigure } from '../prometheus/prometheus.ts';
import type { Sources } from '../sources.ts';
import type { Figure } from './layer.ts';
import { processLayer } from './processes.ts';

function sumOf<T>(all: T[], of: (one: T) => number): number {
  return all.reduce((sum, one) => sum + of(one), 0);
}

type Reported = Pick<Figure, 'source' | 'read'>;

export const worker = processLayer({
  id: 'worker',
  title: 'Workers',
  belongsTo: 'deployment',
  containsWorkers: true,
  pss: { main: true, metric: 'memory.worker_pss.bytes_per_connection' },
  rss: { main: true, metric: 'memory.worker.bytes_per_connection' },
  pssElsewhere: [{ source: 'control port', read: pssBytes }],
  rssElsewhere: [byThemselves((stats) => stats.rssBytes), inMetrics('rssBytes')],
  sampleElsewhere: async ({ workers, prometheus }) => {
    const reported = await workers().catch(() => undefined);
    if (reported) return { rssBytes: sumOf(reported, (stats) => stats.rssBytes) };
    const { rssBytes, workingSetBytes } = (await prometheus()).figures;
    return { ...(rssBytes !== undefined && { rssBytes }), ...(workingSetBytes !== undefined && { workingSetBytes }) };
  },
  cpuElsewhere: async (sources) => ({ busyUs: await cpuUs(sources) }),
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
      elsewhere: [{ source: 'control groups of the workers', read: containerBytes }],
    },
  ],
});

function byThemselves(bytesOf: (stats: WorkerStats) => number): Reported {
  return {
    source: 'control port',
    read: async ({ workers }) => sumOf(await workers(), bytesOf),
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

async function pssBytes({ resources }: Sources): Promise<number> {
  const found = await resources();
  if (found.some((one) => one.pssBytes === undefined)) throw new Error(PSS_UNREADABLE);
  return sumOf(found, (one) => one.pssBytes ?? 0);
}

/** Of containers whose memory is limited, each counted once. The generator's own has more in it than workers. */
async function containerBytes({ resources }: Sources): Promise<number> {
  const containers = workerContainers(await resources());
  if (containers.length === 0) throw new NotInRun("no memory limit of the workers' containers");
  return sumOf(containers, ({ used }) => used);
}

async function cpuUs(sources: Sources): Promise<number> {
  const reported = await sources.workers().catch(() => undefined);
  if (!reported) return (await cpuSeconds(sources)) * 1e6;
  return sumOf(reported, ({ cpuUserUs, cpuSystemUs }) => cpuUserUs + cpuSystemUs);
}

async function cpuSeconds({ prometheus }: Sources): Promise<number> {
  const { cpuSeconds, containerCpuSeconds = cpuSeconds } = (await prometheus()).figures;
  if (containerCpuSeconds === undefined) throw new Error('the metrics have no CPU time');
  return cpuSeconds ?? containerCpuSeconds;
}
