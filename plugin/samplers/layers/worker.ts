/** The Socket.IO workers. */
import { measureTitle, WORKERS_TITLE } from '../../../protocol/named-layers.ts';
import { NotInRun } from '../absence.ts';
import { workerContainers } from '../control/worker-machines.ts';
import { PSS_UNREADABLE } from '../processes/memory.ts';
import type { Sources } from '../sources.ts';
import type { Count } from './layer.ts';
import { hostFigures, metricsOf, processLayer, pssOf, type Teller } from './processes.ts';

const workers = { id: 'worker', title: WORKERS_TITLE };

const themselves: Teller = {
  source: 'control port',
  tell: async (sources) => {
    const all = await sources.workers();
    return {
      rssBytes: sumOf(all, (stats) => stats.rssBytes),
      heapUsedBytes: sumOf(all, (stats) => stats.heapUsedBytes),
      externalBytes: sumOf(all, (stats) => stats.externalBytes),
      cpuUs: sumOf(all, ({ cpuUserUs, cpuSystemUs }) => cpuUserUs + cpuSystemUs),
    };
  },
};

const theirPss: Teller = {
  source: 'control port',
  tell: async ({ resources }) => {
    const all = await resources();
    if (all.some((one) => one.pssBytes === undefined)) throw new Error(PSS_UNREADABLE);
    return { pssBytes: sumOf(all, (one) => one.pssBytes ?? 0) };
  },
};

/** Containers with a memory limit, each counted once; not the generator's, which holds more than workers. */
const theirContainers: Teller = {
  source: 'control groups of the workers',
  tell: async ({ resources }) => {
    const containers = workerContainers(await resources());
    if (containers.length === 0) throw new NotInRun("no memory limit of the workers' containers");
    return { workingSetBytes: sumOf(containers, ({ used }) => used) };
  },
};

const counted = (
  id: string,
  title: string,
  of: (stats: Awaited<ReturnType<Sources['workers']>>[number]) => number | undefined,
): Count => ({
  id,
  title,
  read: async (sources) => {
    const counts = (await sources.workers()).map(of);
    if (counts.length === 0 || counts.includes(undefined)) throw new NotInRun('the workers do not count it');
    return sumOf(counts, (count) => count ?? 0);
  },
});

export const worker = processLayer({
  ...workers,
  counts: [
    counted('workerConnections', 'connections that the workers count', ({ connections }) => connections),
    counted('workerRooms', 'rooms of the workers', ({ rooms }) => rooms),
    counted('workerNamespaces', 'namespaces of the workers', ({ namespaces }) => namespaces),
    {
      id: 'workerFiles',
      title: 'open files and sockets of the workers',
      read: ({ openFiles }) => openFiles(workers.id),
    },
  ],
  belongsTo: 'deployment',
  containsWorkers: true,
  pss: { main: true, metric: 'worker_pss' },
  rss: { main: true, metric: 'worker' },
  figures: [
    {
      id: 'workerKept',
      title: 'Workers V8 heap and external',
      from: [
        {
          source: 'control port',
          read: async (sources) => sumOf(await sources.workers(), (stats) => stats.heapUsedBytes + stats.externalBytes),
        },
      ],
    },
    {
      id: 'workerChildrenPss',
      title: 'Workers child processes PSS',
      from: [{ source: '/proc of its processes', read: childrenPssBytes }],
    },
  ],
  tellers: [themselves, metricsOf(workers.id), theirPss, theirContainers],
  told: [
    {
      figure: 'heapUsedBytes',
      id: 'workerHeapUsed',
      title: measureTitle(WORKERS_TITLE, 'HeapUsed'),
      main: true,
      metric: 'worker_heap',
    },
    { figure: 'externalBytes', id: 'workerExternal', title: 'Workers external' },
    {
      figure: 'workingSetBytes',
      id: 'workerWorkingSet',
      title: 'Workers container working set',
      main: true,
      metric: 'worker_container',
      sampleKey: 'workingSetBytes',
    },
    ...hostFigures(workers),
  ],
});

/** Part of the workers' PSS; 0 if they have started nothing. */
async function childrenPssBytes({ processes }: Sources): Promise<number> {
  await processes(workers.id);
  const children = await processes('workerChildren').catch((reason) => {
    if (reason instanceof NotInRun) return { rssBytes: 0, pssBytes: 0 };
    throw reason;
  });
  return pssOf(children);
}

function sumOf<T>(all: T[], of: (one: T) => number): number {
  return all.reduce((sum, one) => sum + of(one), 0);
}
