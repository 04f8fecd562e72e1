/** The whole machine, with everything else that runs on it. */
import type { Layer } from './layer.ts';

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
