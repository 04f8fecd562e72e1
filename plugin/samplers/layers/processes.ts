/** A layer that consists of processes on this machine. */
import { PSS_UNREADABLE } from '../process-memory.ts';
import type { Figure, Layer } from './layer.ts';

const SOURCE = process.platform === 'linux' ? '/proc of its processes' : 'ps';

interface ProcessLayer extends Pick<Layer, 'id' | 'title' | 'belongsTo' | 'containsWorkers'> {
  pss?: Pick<Figure, 'main' | 'metric'>;
  rss?: Pick<Figure, 'main' | 'metric'>;
  /** Who reports its RSS, for processes that cannot be read here. */
  rssElsewhere?: Figure['elsewhere'];
  /** Its values in a sample row, and its CPU, where its processes cannot be read here. */
  sampleElsewhere?: Layer['sample'];
  cpuElsewhere?: Layer['cpu'];
  /** Further figures. */
  figures?: Figure[];
}

/** @returns a layer with CPU time, `<id>Pss` and `<id>Rss`, and both in the samples; PSS is part of the sum */
export function processLayer(layer: ProcessLayer): Layer {
  const { pss, rss, rssElsewhere, sampleElsewhere, cpuElsewhere, figures = [], ...described } = layer;
  const { id, title } = described;
  return {
    ...described,
    isProcesses: true,
    figures: [
      {
        id: `${id}Pss`,
        title: `${title} PSS`,
        sampleKey: 'pssBytes',
        inSum: true,
        source: SOURCE,
        read: async ({ processes }) => {
          const { pssBytes } = await processes(id);
          if (pssBytes === undefined) throw new Error(PSS_UNREADABLE);
          return pssBytes;
        },
        ...pss,
      },
      {
        id: `${id}Rss`,
        title: `${title} RSS`,
        sampleKey: 'rssBytes',
        source: SOURCE,
        read: async ({ processes }) => (await processes(id)).rssBytes,
        ...(rssElsewhere && { elsewhere: rssElsewhere }),
        ...rss,
      },
      ...figures,
    ],
    ...(cpuElsewhere && { cpu: cpuElsewhere }),
    sample: async (sources) => {
      try {
        return { ...(await sources.processes(id)) };
      } catch (reason) {
        if (!sampleElsewhere) throw reason;
        return sampleElsewhere(sources);
      }
    },
  };
}
