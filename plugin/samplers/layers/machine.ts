/** Whole machines and containers, and what the kernel of the generator's machine has for its sockets. */
import { workerMachines as machinesOf } from '../control/worker-machines.ts';
import type { Sources } from '../sources.ts';
import type { Layer, Origin } from './layer.ts';

const BESIDE = '/proc/meminfo less /proc of all measured processes';

/** For sockets and processes; on a single machine, for both ends of every connection. */
export const kernel: Layer = {
  id: 'kernel',
  title: 'Kernel',
  belongsTo: 'machine',
  counts: [{ id: 'kernelSockets', title: 'TCP sockets of the machine', read: ({ kernel }) => kernel.sockets() }],
  figures: [
    {
      id: 'kernelSlab',
      title: 'Kernel socket slabs',
      inSum: true,
      main: true,
      from: [{ source: '/proc/slabinfo', read: ({ kernel }) => kernel.slabBytes() }],
    },
    {
      id: 'kernelTcp',
      title: 'Kernel TCP buffers',
      inSum: true,
      main: true,
      metric: 'kernel_tcp',
      from: [{ source: '/proc/net/sockstat', read: ({ kernel }) => kernel.tcpBytes() }],
    },
    {
      id: 'kernelPageTables',
      title: 'Kernel page tables',
      inSum: true,
      from: [{ source: '/proc/meminfo', read: async ({ kernel }) => (await kernel.memory()).pageTablesBytes }],
    },
  ],
};

/** With everything else that runs on it. */
export const system: Layer = {
  id: 'system',
  title: 'Whole machine',
  belongsTo: 'machine',
  containsWorkers: true,
  cpu: ({ kernel }) => kernel.cpu(),
  figures: [
    {
      id: 'systemUsed',
      title: 'Whole machine',
      main: true,
      metric: 'system',
      sampleKey: 'usedBytes',
      from: [{ source: '/proc/meminfo', read: async ({ kernel }) => (await kernel.memory()).usedBytes }],
    },
    {
      id: 'systemHeld',
      title: 'Whole machine, held',
      main: true,
      from: [{ source: '/proc/meminfo', read: async ({ kernel }) => (await kernel.memory()).heldBytes }],
    },
    {
      id: 'systemPrograms',
      title: 'All programs of the machine',
      from: [{ source: '/proc/meminfo', read: programsBytes }],
    },
    {
      id: 'systemShared',
      title: 'Shared memory of the machine',
      from: [{ source: '/proc/meminfo', read: async ({ kernel }) => (await kernel.memory()).sharedBytes }],
    },
    {
      id: 'systemUnmeasured',
      title: 'Programs that no layer includes',
      from: [{ source: BESIDE, read: (sources) => beside(sources, 'anonymousBytes') }],
    },
    {
      id: 'systemUnmeasuredShared',
      title: 'Shared memory that no layer includes',
      from: [{ source: BESIDE, read: (sources) => beside(sources, 'sharedBytes') }],
    },
    {
      id: 'systemKernel',
      title: 'Kernel memory that cannot be reclaimed',
      from: [{ source: '/proc/meminfo', read: async ({ kernel }) => (await kernel.memory()).kernelBytes }],
    },
  ],
  sample: async ({ kernel }) => ({ usedBytes: (await kernel.memory()).usedBytes }),
};

/** With everything in it: part of a run only where its memory is limited. */
export const container: Layer = {
  id: 'container',
  title: 'Container of the generator',
  belongsTo: 'machine',
  figures: [
    {
      id: 'containerUsed',
      title: 'Container of the generator',
      sampleKey: 'usedBytes',
      from: [{ source: 'its control group', read: ({ kernel }) => kernel.containerBytes() }],
    },
  ],
  sample: async ({ kernel }) => ({ usedBytes: await kernel.containerBytes() }),
};

/** Machines of workers elsewhere, with everything else that runs on them. */
export const workerMachines: Layer = {
  id: 'workerMachines',
  title: "Workers' machines",
  belongsTo: 'deployment',
  containsWorkers: true,
  figures: [
    { id: 'workerMachinesUsed', title: "Workers' machines", main: true, from: [told('usedBytes')] },
    { id: 'workerMachinesTcp', title: "Workers' machines, TCP buffers", from: [told('tcpBytes')] },
  ],
};

function told(figure: 'usedBytes' | 'tcpBytes'): Origin {
  return {
    source: 'control port',
    read: async ({ resources }) => {
      const bytes = machinesOf(await resources()).map(({ machine }) => machine[figure]);
      if (bytes.includes(undefined)) throw new Error('available on Linux only');
      return bytes.reduce((sum: number, one) => sum + (one ?? 0), 0);
    },
  };
}

async function programsBytes({ kernel }: Sources): Promise<number> {
  const { anonymousBytes, sharedBytes } = await kernel.memory();
  return anonymousBytes + sharedBytes;
}

async function beside({ kernel, pages }: Sources, kind: 'anonymousBytes' | 'sharedBytes'): Promise<number> {
  const [all, measured] = [await kernel.memory(), await pages()];
  return Math.max(0, all[kind] - measured[kind]);
}
