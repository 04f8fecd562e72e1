import { readCgroup } from '../../../protocol/base/machine/cgroup.ts';
import {
  readCpu,
  readMemory,
  readSlabBytes,
  readTcpBytes,
  readTcpSockets,
} from '../../../protocol/base/machine/kernel.ts';
import { lowestLimit } from '../../../protocol/base/machine/usable.ts';
import { INSPECTED_RUNTIMES, INSPECTION_METHODS } from '../../../protocol/documents/server-runtimes.ts';
import { NotInRunError, SourceAbsentError } from '../absence.ts';
import { workerContainers, workerMachines } from '../control/worker-machines.ts';
import { openFilesOf, PSS_UNREADABLE_REASON, sumProcessBytes } from '../processes/process-memory.ts';
import { FIGURE_FORMULAS, type PageFigure } from '../prometheus/page-figures.ts';
import type { SamplerInputs } from '../sampler-inputs.ts';
import type { FigureSource, ReadFigure } from './layer.ts';

/** Returns the source for the layer's processes on this machine. */
export function processSource(layer: string): FigureSource {
  return {
    name: process.platform === 'linux' ? '/proc of its processes' : 'ps',
    measures: {
      pssBytes: ({ pids, processes }) => sumProcessBytes(pids[layer], processes, 'pssBytes'),
      rssBytes: ({ pids, processes }) => sumProcessBytes(pids[layer], processes, 'rssBytes'),
    },
  };
}

/**
 * Memory of the workers' child processes, and open files of the workers. The PSS of the workers includes the PSS of
 * their children.
 */
export const workerProcessSource: FigureSource = {
  name: '/proc of its processes',
  measures: {
    childrenPssBytes: ({ pids, processes }) => {
      sumProcessBytes(pids.worker, processes, 'rssBytes');
      const { workerChildren = [] } = pids;
      return workerChildren.length === 0 ? 0 : sumProcessBytes(workerChildren, processes, 'pssBytes');
    },
    openFiles: ({ pids }) => openFilesOf(pids.worker),
  },
};

/** Returns the source that reads the layer's metrics pages, from any exporter. */
export function metricsPageSource(layer: string): FigureSource {
  const keys = Object.keys(FIGURE_FORMULAS) as PageFigure[];
  const nameOf = (measure: string) =>
    FIGURE_FORMULAS[measure === 'cpuUs' ? 'cpuSeconds' : (measure as PageFigure)].at(-1);
  type Figures = { [key in PageFigure]?: number };
  const figureOf = Object.fromEntries(keys.map((key) => [key, (figures: Figures) => figures[key]]));
  const inUs = ({ cpuSeconds }: Figures) => (cpuSeconds === undefined ? undefined : 1e6 * cpuSeconds);
  return {
    name: 'metrics pages',
    measures: sums(
      async ({ pages }) => [(await pages(layer)).figures],
      { ...figureOf, cpuUs: inUs },
      (measure) => new SourceAbsentError('unsupported', `not all metrics have ${nameOf(measure)}`),
    ),
  };
}

export const workerStatsSource: FigureSource = {
  name: 'control port',
  measures: sums(
    ({ stats }) => stats(),
    {
      rssBytes: ({ rssBytes }) => rssBytes,
      heapUsedBytes: ({ heapUsedBytes }) => heapUsedBytes,
      externalBytes: ({ externalBytes }) => externalBytes,
      keptBytes: ({ heapUsedBytes, externalBytes }) => heapUsedBytes + externalBytes,
      cpuUs: ({ cpuUserUs, cpuSystemUs }) => cpuUserUs + cpuSystemUs,
      connections: ({ connections }) => connections,
      rooms: ({ rooms }) => rooms,
      namespaces: ({ namespaces }) => namespaces,
    },
    () => new NotInRunError('the workers do not count it'),
  ),
};

/**
 * Figures that runtimes report through inspectors, the attach protocol or pprof. In Node, they cover the main thread
 * and the worker threads that serve connections.
 */
export const inspectorSources: FigureSource[] = INSPECTED_RUNTIMES.map((runtime) => ({
  name: INSPECTION_METHODS[runtime].by,
  measures: sums(
    async ({ inspected }) => inspected(runtime),
    {
      rssBytes: ({ rssBytes }) => rssBytes,
      heapUsedBytes: ({ heapUsedBytes }) => heapUsedBytes,
      externalBytes: ({ externalBytes }) => externalBytes,
      keptBytes: ({ keptBytes }) => keptBytes,
      mallocBytes: ({ mallocBytes }) => mallocBytes,
      codeBytes: ({ codeBytes }) => codeBytes,
    },
    () => new SourceAbsentError('unsupported', `${INSPECTION_METHODS[runtime].by} does not report it`),
  ),
}));

/**
 * Figures that each worker reads about its own process. They are not part of the time series, because reading them
 * takes too long.
 */
export const workerPagesSource: FigureSource = {
  name: 'control port',
  measures: sums(
    ({ resources }) => resources(),
    {
      pssBytes: ({ pssBytes }) => pssBytes,
      mallocBytes: ({ mallocBytes }) => mallocBytes,
      codeBytes: ({ codeBytes }) => codeBytes,
    },
    () => new SourceAbsentError('unsupported', PSS_UNREADABLE_REASON),
  ),
};

/**
 * Working set of the workers' containers that have a memory limit. Absent if the generator is in one of these
 * containers.
 */
export const workerContainersSource: FigureSource = {
  name: 'control groups of the workers',
  measures: sums(
    async ({ resources }) => workerContainers(await resources()),
    { workingSetBytes: ({ used }) => used },
    () => new NotInRunError("no memory limit of the workers' containers"),
  ),
};

export const workerMachinesSource: FigureSource = {
  name: 'control port',
  measures: sums(
    async ({ resources }) => workerMachines(await resources()),
    { usedBytes: ({ machine }) => machine.usedBytes, tcpBytes: ({ machine }) => machine.tcpBytes },
    () => new SourceAbsentError('unsupported', 'available on Linux only'),
  ),
};

/** Figures that Redis reports about itself, on any host. */
export const redisInfoSource: FigureSource = {
  name: 'INFO and CLIENT LIST of Redis',
  measures: sums(
    async ({ redis }) => [await redis()],
    {
      rssBytes: ({ rssBytes }) => rssBytes,
      usedMemoryBytes: ({ usedMemoryBytes }) => usedMemoryBytes,
      keys: ({ keys }) => keys,
      channels: ({ channels }) => channels,
      patterns: ({ patterns }) => patterns,
      clients: ({ clients }) => clients,
      pubSubTotalBytes: ({ pubSubTotalBytes }) => pubSubTotalBytes,
      outputBufferBytes: ({ pubSubOutputBytes }) => pubSubOutputBytes,
    },
    () => new SourceAbsentError('refused', 'Redis does not let this user list its clients'),
  ),
};

export const kernelSources: FigureSource[] = [
  { name: '/proc/slabinfo', measures: { slabBytes: () => readSlabBytes() } },
  { name: '/proc/net/sockstat', measures: { tcpBytes: () => readTcpBytes(), sockets: () => readTcpSockets() } },
  { name: '/proc/meminfo', measures: { pageTablesBytes: () => readMemory().pageTablesBytes } },
];

export const machineSources: FigureSource[] = [
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

/** Memory that the kernel counts for the control group of the generator, from the group with the lowest limit. */
export const generatorCgroupSource: FigureSource = {
  name: 'its control group',
  measures: sums(
    () => [lowestLimit(readCgroup().memory, Number.POSITIVE_INFINITY)],
    { usedBytes: (limit) => limit?.used },
    () => new SourceAbsentError('gone', 'the control group no longer reports its memory limit and its use'),
  ),
};

/**
 * Returns functions that sum a value over the parts of an answer.
 * @param why reason if a part lacks the value: a sum over the other parts would be too low
 */
function sums<T>(
  partsOf: (inputs: SamplerInputs) => T[] | Promise<T[]>,
  measures: Record<string, (part: T) => number | undefined>,
  why: (measure: string) => SourceAbsentError,
): FigureSource['measures'] {
  const sumOf = (measure: string, of: (part: T) => number | undefined) => async (inputs: SamplerInputs) => {
    const values = (await partsOf(inputs)).map(of);
    if (values.length === 0 || values.includes(undefined)) throw why(measure);
    return values.reduce((sum: number, value) => sum + (value ?? 0), 0);
  };
  return Object.fromEntries(Object.entries(measures).map(([measure, of]) => [measure, sumOf(measure, of)]));
}

function unmeasured(kind: 'anonymousBytes' | 'sharedBytes'): ReadFigure {
  return ({ pids, processes }) => {
    if (!pids.worker?.length) throw new NotInRunError('the processes of the workers are unknown on this machine');
    return Math.max(0, readMemory()[kind] - sumProcessBytes([...new Set(Object.values(pids).flat())], processes, kind));
  };
}
