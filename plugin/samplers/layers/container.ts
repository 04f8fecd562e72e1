/** The container of the generator, with everything in it: part of a run only where its memory is limited. */
import type { Layer } from './layer.ts';

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
