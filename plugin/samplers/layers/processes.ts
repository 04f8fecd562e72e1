/** A layer that consists of processes on this machine. */
import { PSS_UNREADABLE } from '../processes/memory.ts';
import type { Sources } from '../sources.ts';
import type { Figure, Layer } from './layer.ts';

const OBSERVER = 'its observer';
const SOURCE = process.platform === 'linux' ? '/proc of its processes' : 'ps';

interface ProcessLayer extends Pick<Layer, 'id' | 'title' | 'belongsTo' | 'containsWorkers'> {
  pss?: Pick<Figure, 'main' | 'metric'>;
  rss?: Pick<Figure, 'main' | 'metric'>;
  /** Who reports its PSS and RSS, for processes that cannot be read here. */
  pssElsewhere?: Figure['elsewhere'];
  rssElsewhere?: Figure['elsewhere'];
  /** Its values in a sample row, and its CPU, where its processes cannot be read here. */
  sampleElsewhere?: Layer['sample'];
  cpuElsewhere?: Layer['cpu'];
  /** Its host can have an observer, who tells of processes that cannot be read here; `only`: they never can. */
  observed?: 'too' | 'only';
  /** Further figures. */
  figures?: Figure[];
}

/** @returns a layer with CPU time, `<id>Pss` and `<id>Rss`, and both in the samples; PSS is part of the sum */
export function processLayer(layer: ProcessLayer): Layer {
  const {
    pss,
    rss,
    pssElsewhere,
    rssElsewhere,
    sampleElsewhere,
    cpuElsewhere,
    observed,
    figures = [],
    ...described
  } = layer;
  const { id, title } = described;
  const ofObserver = observed ? byObserver(id, title) : undefined;
  const samplers = [sampleElsewhere, ofObserver?.sample].filter((one) => one !== undefined);
  const pssOfOthers = [...(ofObserver ? [ofObserver.pss] : []), ...(pssElsewhere ?? [])];
  const rssOfOthers = [...(ofObserver ? [ofObserver.rss] : []), ...(rssElsewhere ?? [])];
  const cpu = cpuElsewhere ?? ofObserver?.cpu;
  return {
    ...described,
    isProcesses: true,
    ...(observed === 'only' && { onlyObserved: true as const }),
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
        ...(pssOfOthers.length > 0 && { elsewhere: pssOfOthers }),
        ...pss,
      },
      {
        id: `${id}Rss`,
        title: `${title} RSS`,
        sampleKey: 'rssBytes',
        source: SOURCE,
        read: async ({ processes }) => (await processes(id)).rssBytes,
        ...(rssOfOthers.length > 0 && { elsewhere: rssOfOthers }),
        ...rss,
      },
      ...(ofObserver ? [ofObserver.host] : []),
      ...figures,
    ],
    ...(cpu && { cpu }),
    sample: async (sources) => {
      try {
        return { ...(await sources.processes(id)) };
      } catch (reason) {
        const [first] = samplers;
        if (!first) throw reason;
        return first(sources);
      }
    },
  };
}

/** What an observer on the layer's host tells. */
function byObserver(id: string, title: string) {
  const of = ({ observed }: Sources) => observed(id);
  const pss = async (sources: Sources) => {
    const { pssBytes } = await of(sources);
    if (pssBytes === undefined) throw new Error(`its observer cannot read it: ${PSS_UNREADABLE}`);
    return pssBytes;
  };
  const host: Figure = {
    id: `${id}HostUsed`,
    title: `${title} hosts, used`,
    sampleKey: 'hostUsedBytes',
    source: OBSERVER,
    read: async (sources) => (await of(sources)).hostUsedBytes,
    onlyObserved: true,
  };
  return {
    pss: { source: OBSERVER, read: pss },
    rss: { source: OBSERVER, read: async (sources: Sources) => (await of(sources)).rssBytes },
    host,
    cpu: async (sources: Sources) => ({ busyUs: (await of(sources)).cpuUs }),
    sample: async (sources: Sources) => {
      const { cpuUs: _, ...bytes } = await of(sources);
      const known = Object.entries(bytes).filter((entry): entry is [string, number] => entry[1] !== undefined);
      return Object.fromEntries(known);
    },
  };
}
