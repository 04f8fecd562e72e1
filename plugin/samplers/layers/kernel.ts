/** Kernel memory for sockets and processes; on a single machine, for both ends of every connection. */
import type { Layer } from './layer.ts';

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
