/** Sources of the layers. */
import { readCgroup } from '../../../protocol/machine/cgroup.ts';
import { readCpu, readMemory, readSlabBytes, readTcpBytes, readTcpSockets } from '../../../protocol/machine/kernel.ts';
import { lowestLimit } from '../../../protocol/machine/usable.ts';
import { Absent, NotInRun } from '../absence.ts';
import { workerContainers, workerMachines } from '../control/worker-machines.ts';
import type { Inputs } from '../inputs.ts';
import type { InspectedMemory } from '../inspector/inspectors.ts';
import { openFilesOf, PSS_UNREADABLE, sumOver } from '../processes/memory.ts';
import { METRICS, type PrometheusFigure } from '../prometheus/figures.ts';
import type { RedisReading } from '../redis/redis.ts';
import type { Measure, Source } from './layer.ts';

/** @returns the source of the processes on this machine */
export function processesOf(layer: string): Source {
  return {
    name: process.platform === 'linux' ? '/proc of its processes' : 'ps',
    measures: {
      pssBytes: ({ pids, processes }) => sumOver(pids[layer], processes, 'pssBytes'),
      rssBytes: ({ pids, processes }) => sumOver(pids[layer], processes, 'rssBytes'),
    },
  };
}

/** Part of the workers' PSS; 0 if they have started nothing. */
export const workerChildren: Source = {
  name: '/proc of its processes',
  measures: {
    childrenPssBytes: ({ pids, processes }) => {
      sumOver(pids.worker, processes, 'rssBytes');
      const { workerChildren = [] } = pids;
      return workerChildren.length === 0 ? 0 : sumOver(workerChildren, processes, 'pssBytes');
    },
    openFiles: ({ pids }) => openFilesOf(pids.worker),
  },
};

/** @returns the source of the pages of metrics of a layer, whichever exporters they are */
export function metricsOf(layer: string): Source {
  const figure = (key: PrometheusFigure) => async (inputs: Inputs) => {
    const { [key]: value } = (await inputs.pages(layer)).figures;
    if (value === undefined) throw new Absent('unsupported', `not all metrics have ${METRICS[key].at(-1)}`);
    return value;
  };
  const keys = Object.keys(METRICS) as PrometheusFigure[];
  const cpuSeconds = figure('cpuSeconds');
  return {
    name: 'Prometheus metrics',
    measures: {
      ...Object.fromEntries(keys.map((key) => [key, figure(key)])),
      cpuUs: async (inputs) => 1e6 * (await cpuSeconds(inputs)),
    },
  };
}

type Stats = Awaited<ReturnType<Inputs['stats']>>[number];

const total =
  (of: (stats: Stats) => number): Measure =>
  async ({ stats }) =>
    sumOf(await stats(), of);

const count =
  (of: (stats: Stats) => number | undefined): Measure =>
  async ({ stats }) => {
    const counts = (await stats()).map(of);
    if (counts.length === 0 || counts.includes(undefined)) throw new NotInRun('the workers do not count it');
    return sumOf(counts, (one) => one ?? 0);
  };

/** The workers' own statistics. */
export const workerStats: Source = {
  name: 'control port',
  measures: {
    rssBytes: total(({ rssBytes }) => rssBytes),
    heapUsedBytes: total(({ heapUsedBytes }) => heapUsedBytes),
    externalBytes: total(({ externalBytes }) => externalBytes),
    keptBytes: total(({ heapUsedBytes, externalBytes }) => heapUsedBytes + externalBytes),
    cpuUs: total(({ cpuUserUs, cpuSystemUs }) => cpuUserUs + cpuSystemUs),
    connections: count(({ connections }) => connections),
    rooms: count(({ rooms }) => rooms),
    namespaces: count(({ namespaces }) => namespaces),
  },
};

const inspected =
  (of: (memory: InspectedMemory) => number): Measure =>
  async ({ inspected }) =>
    sumOf(await inspected(), of);

/** The main isolate of each process, without its worker threads. */
export const workerInspectors: Source = {
  name: "Node's inspector",
  measures: {
    rssBytes: inspected(({ rssBytes }) => rssBytes),
    heapUsedBytes: inspected(({ heapUsedBytes }) => heapUsedBytes),
    externalBytes: inspected(({ externalBytes }) => externalBytes),
    keptBytes: inspected(({ heapUsedBytes, externalBytes }) => heapUsedBytes + externalBytes),
  },
};

/** What the workers read of their own processes on request: it takes too long for each sample. */
export const workerPss: Source = {
  name: 'control port',
  measures: {
    pssBytes: async ({ resources }) => known(await resources(), ({ pssBytes }) => pssBytes, PSS_UNREADABLE),
  },
};

/** Containers with a memory limit, each counted once; not the generator's, which holds more than workers. */
export const containersOfWorkers: Source = {
  name: 'control groups of the workers',
  measures: {
    workingSetBytes: async ({ resources }) => {
      const containers = workerContainers(await resources());
      if (containers.length === 0) throw new NotInRun("no memory limit of the workers' containers");
      return sumOf(containers, ({ used }) => used);
    },
  },
};

const machineTotal =
  (figure: 'usedBytes' | 'tcpBytes'): Measure =>
  async ({ resources }) =>
    known(workerMachines(await resources()), ({ machine }) => machine[figure], 'available on Linux only');

export const machinesOfWorkers: Source = {
  name: 'control port',
  measures: { usedBytes: machineTotal('usedBytes'), tcpBytes: machineTotal('tcpBytes') },
};

const redisFigure =
  (figure: Exclude<keyof RedisReading, 'runIds'>): Measure =>
  async ({ redis }) => {
    const { [figure]: value } = await redis();
    if (value !== undefined) return value;
    throw new Absent('refused', 'Redis does not let this user list its clients');
  };

/** What Redis reports about itself, wherever it runs. */
export const redisItself: Source = {
  name: 'INFO and CLIENT LIST of Redis',
  measures: {
    rssBytes: redisFigure('rssBytes'),
    usedMemoryBytes: redisFigure('usedMemoryBytes'),
    keys: redisFigure('keys'),
    channels: redisFigure('channels'),
    patterns: redisFigure('patterns'),
    clients: redisFigure('clients'),
    pubSubTotalBytes: redisFigure('pubSubTotalBytes'),
    outputBufferBytes: redisFigure('pubSubOutputBytes'),
  },
};

/** The kernel of the generator's machine. */
export const kernelSources: Source[] = [
  { name: '/proc/slabinfo', measures: { slabBytes: () => readSlabBytes() } },
  { name: '/proc/net/sockstat', measures: { tcpBytes: () => readTcpBytes(), sockets: () => readTcpSockets() } },
  { name: '/proc/meminfo', measures: { pageTablesBytes: () => readMemory().pageTablesBytes } },
];

export const machineSources: Source[] = [
  {
    name: '/proc/meminfo',
    measures: {
      usedBytes: () => readMemory().usedBytes,
      heldBytes: () => readMemory().heldBytes,
      sharedBytes: () => readMemory().sharedBytes,
      kernelBytes: () => readMemory().kernelBytes,
      programsBytes: () => {
        const { anonymousBytes, sharedBytes } = readMemory();
        return anonymousBytes + sharedBytes;
      },
    },
  },
  {
    name: '/proc/meminfo less /proc of all measured processes',
    measures: { unmeasuredBytes: unmeasured('anonymousBytes'), unmeasuredSharedBytes: unmeasured('sharedBytes') },
  },
  { name: '/proc/stat', measures: { cpuUs: () => readCpu().busyUs, idleUs: () => readCpu().idleUs } },
];

/** The control group of the generator with the lowest limit. */
export const controlGroup: Source = {
  name: 'its control group',
  measures: {
    usedBytes: () => {
      const limit = lowestLimit(readCgroup().memory, Number.POSITIVE_INFINITY);
      if (limit?.used !== undefined) return limit.used;
      throw new Absent('gone', 'the control group no longer reports its memory limit and its use');
    },
  },
};

function unmeasured(kind: 'anonymousBytes' | 'sharedBytes'): Measure {
  return ({ pids, processes }) => {
    if (!pids.worker?.length) throw new NotInRun('the processes of the workers are not known on this machine');
    return Math.max(0, readMemory()[kind] - sumOver([...new Set(Object.values(pids).flat())], processes, kind));
  };
}

/** @throws Absent if one of them does not have it: a sum over only some would be too low */
function known<T>(all: T[], of: (one: T) => number | undefined, why: string): number {
  const values = all.map(of);
  if (values.includes(undefined)) throw new Absent('unsupported', why);
  return sumOf(values, (value) => value ?? 0);
}

function sumOf<T>(all: T[], of: (one: T) => number): number {
  return all.reduce((sum, one) => sum + of(one), 0);
}
