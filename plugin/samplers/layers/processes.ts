/** A layer that consists of processes on this machine. */
import { PSS_UNREADABLE } from '../process-memory.ts';
import type { Figure, Layer } from './layer.ts';

interface ProcessLayer extends Pick<Layer, 'id' | 'title' | 'belongsTo'> {
  pss?: Pick<Figure, 'main' | 'metric'>;
  rss?: Pick<Figure, 'main' | 'metric'>;
  /** The RSS that it reports itself, for processes on another machine. */
  rssElsewhere?: Figure['read'];
  /** Further figures. */
  figures?: Figure[];
}

/** @returns a layer with CPU time, `<id>Pss` and `<id>Rss`, and both in the samples; PSS is part of the sum */
export function processLayer({ id, title, belongsTo, pss, rss, rssElsewhere, figures = [] }: ProcessLayer): Layer {
  const rssHere: Figure['read'] = async ({ processes }) => (await processes(id)).rssBytes;
  return {
    id,
    title,
    belongsTo,
    isProcesses: true,
    figures: [
      {
        id: `${id}Pss`,
        title: `${title} PSS`,
        sampleKey: 'pssBytes',
        inSum: true,
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
        read: rssElsewhere ? either(rssHere, rssElsewhere) : rssHere,
        ...rss,
      },
      ...figures,
    ],
    sample: async ({ processes }) => ({ ...(await processes(id)) }),
  };
}

/** Rejects with the first reason if both fail. */
function either(first: Figure['read'], second: Figure['read']): Figure['read'] {
  return async (sources) => {
    try {
      return await first(sources);
    } catch (reason) {
      return second(sources).catch(() => Promise.reject(reason));
    }
  };
}
