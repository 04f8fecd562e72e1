/** What the kernel of the generator's machine tells: of its sockets, of the whole machine, and of the generator's container. */
import type { Layer } from './layer.ts';

/** For sockets and processes; on a single machine, for both ends of every connection. */
export const kernel: Layer = {
  id: 'kernel',
  title: 'Kernel',
  belongsTo: 'machine',
  figures: [
    {
      id: 'kernelSlab',
      title: 'Kernel socket slabs',
      inSum: true,
      main: true,
      source: '/proc/slabinfo',
      read: ({ kernel }) => kernel.slabBytes(),
    },
    {
      id: 'kernelTcp',
      title: 'Kernel TCP buffers',
      inSum: true,
      main: true,
      metric: 'memory.kernel_tcp.bytes_per_connection',
      source: '/proc/net/sockstat',
      read: ({ kernel }) => kernel.tcpBytes(),
    },
    {
      id: 'kernelPageTables',
      title: 'Kernel page tables',
      inSum: true,
      source: '/proc/meminfo',
      read: async ({ kernel }) => (await kernel.memory()).pageTablesBytes,
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
      metric: 'memory.system.bytes_per_connection',
      sampleKey: 'usedBytes',
      source: '/proc/meminfo',
      read: async ({ kernel }) => (await kernel.memory()).usedBytes,
    },
    {
      id: 'systemHeld',
      title: 'Whole machine, held',
      main: true,
      source: '/proc/meminfo',
      read: async ({ kernel }) => (await kernel.memory()).heldBytes,
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
      source: 'its control group',
      read: ({ kernel }) => kernel.containerBytes(),
    },
  ],
  sample: async ({ kernel }) => ({ usedBytes: await kernel.containerBytes() }),
};
