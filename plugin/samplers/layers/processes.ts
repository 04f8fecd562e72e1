/** A layer that consists of processes: on this machine, or told by something that knows of them elsewhere. */
import { measureTitle } from '../../../protocol/named-layers.ts';
import { NotInRun } from '../absence.ts';
import { type ProcessMemory, PSS_UNREADABLE } from '../processes/memory.ts';
import { METRICS, type PrometheusFigure } from '../prometheus/figures.ts';
import { firstKnown } from '../reading.ts';
import type { Sources } from '../sources.ts';
import type { Figure, Layer } from './layer.ts';

type ToldFigure = Exclude<PrometheusFigure, 'cpuSeconds'> | 'cpuUs';
/** What can be told of processes that cannot be read here. */
export type Told = Partial<Record<ToldFigure, number>>;

/** Something that tells of them. */
export interface Teller {
  source: string;
  /** Rejects with the reason why it tells nothing. */
  tell(sources: Sources): Promise<Told>;
  /** Why it lacks a figure that it could have. */
  whyNot?(figure: ToldFigure): string;
}

interface ProcessLayer extends Pick<Layer, 'id' | 'title' | 'belongsTo' | 'containsWorkers' | 'onlyNamed' | 'counts'> {
  pss?: Pick<Figure, 'main' | 'metric'>;
  rss?: Pick<Figure, 'main' | 'metric'>;
  /** Asked in this order where its processes cannot be read here. */
  tellers?: Teller[];
  /** Further figures: of its processes here, and those that only they know. */
  figures?: Figure[];
  told?: ({ figure: ToldFigure } & Omit<Figure, 'from'>)[];
}

const SOURCE = process.platform === 'linux' ? '/proc of its processes' : 'ps';

/** @returns a layer with CPU time, `<id>Pss` and `<id>Rss`, and both in the samples; PSS is part of the sum */
export function processLayer({ pss, rss, tellers = [], figures = [], told = [], ...layer }: ProcessLayer): Layer {
  const { id, title } = layer;
  const from = (figure: ToldFigure) =>
    tellers.map((teller) => ({ source: teller.source, read: (sources: Sources) => figureOf(teller, figure, sources) }));
  const all: Figure[] = [
    {
      id: `${id}Pss`,
      title: measureTitle(title, 'Pss'),
      sampleKey: 'pssBytes',
      inSum: true,
      from: [{ source: SOURCE, read: ({ processes }) => processes(id).then(pssOf) }, ...from('pssBytes')],
      ...pss,
    },
    {
      id: `${id}Rss`,
      title: measureTitle(title, 'Rss'),
      sampleKey: 'rssBytes',
      from: [
        { source: SOURCE, read: ({ processes }) => processes(id).then(({ rssBytes }) => rssBytes) },
        ...from('rssBytes'),
      ],
      ...rss,
    },
    ...figures,
    ...told.map(({ figure, ...described }) => ({ ...described, from: from(figure) })),
  ];
  return {
    ...layer,
    isProcesses: true,
    figures: all,
    cpu: async (sources) => ({ busyUs: (await firstKnown(from('cpuUs'), sources)).bytes }),
    sample: async (sources) => {
      try {
        return { ...(await sources.processes(id)) };
      } catch (reason) {
        for (const { tell } of tellers) {
          const found = sampled(await tell(sources).catch(() => ({})), all);
          if (Object.keys(found).length > 0) return found;
        }
        throw reason;
      }
    },
  };
}

/** @throws Error where it was not readable */
export function pssOf({ pssBytes }: ProcessMemory): number {
  if (pssBytes === undefined) throw new Error(PSS_UNREADABLE);
  return pssBytes;
}

/** @returns a layer of the deployment that exporters can tell of, each of them before its own tellers, with its hosts */
export function exportedLayer({ tellers = [], told = [], ...layer }: Omit<ProcessLayer, 'belongsTo'>): Layer {
  return processLayer({
    ...layer,
    belongsTo: 'deployment',
    tellers: [metricsOf(layer.id), ...tellers],
    told: [...told, ...hostFigures(layer)],
  });
}

/** What the pages of metrics of a layer tell, by whatever exporters they are. */
export function metricsOf(layer: string): Teller {
  return {
    source: 'Prometheus metrics',
    tell: async ({ prometheus }) => {
      const { cpuSeconds, ...bytes } = (await prometheus(layer)).figures;
      return { ...bytes, ...(cpuSeconds !== undefined && { cpuUs: cpuSeconds * 1e6 }) };
    },
    whyNot: (figure) => `not all metrics have ${METRICS[figure === 'cpuUs' ? 'cpuSeconds' : figure].at(-1)}`,
  };
}

/** What node_exporter tells of the hosts of a layer. */
export function hostFigures({ id, title }: Pick<Layer, 'id' | 'title'>): NonNullable<ProcessLayer['told']> {
  const onlyMetrics = true;
  return [
    {
      figure: 'hostUsedBytes',
      id: `${id}HostUsed`,
      title: `${title} hosts, used`,
      sampleKey: 'hostUsedBytes',
      onlyMetrics,
    },
    { figure: 'hostTcpBytes', id: `${id}HostTcp`, title: `${title} hosts, TCP buffers`, onlyMetrics },
  ];
}

async function figureOf({ source, tell, whyNot }: Teller, figure: ToldFigure, sources: Sources): Promise<number> {
  const { [figure]: value } = await tell(sources);
  if (value !== undefined) return value;
  throw whyNot ? new Error(whyNot(figure)) : new NotInRun(`not told by ${source}`);
}

function sampled(told: Told, figures: Figure[]): Record<string, number> {
  const keys = figures.flatMap(({ sampleKey }) => sampleKey ?? []) as ToldFigure[];
  return Object.fromEntries(keys.flatMap((key) => (told[key] === undefined ? [] : [[key, told[key]]])));
}
