/**
 * Layers of a deployment that the option `layers` can name, beside its workers. What they measure is in
 * `plugin/samplers/layers/`; the memory of a proxy is part of what a connection costs.
 */

interface NamedLayer {
  title: string;
  isProxy: boolean;
  /** A stack that the run starts can have it; else it is part of a run only if settings name it. */
  ofStack: boolean;
}

export const NAMED_LAYERS = {
  nginx: { title: 'nginx', isProxy: true, ofStack: true },
  haproxy: { title: 'HAProxy', isProxy: true, ofStack: false },
  redis: { title: 'Redis', isProxy: false, ofStack: true },
} as const satisfies Record<string, NamedLayer>;

export type LayerName = keyof typeof NAMED_LAYERS;

/** The workers, which every deployment has. */
export const WORKERS_TITLE = 'Workers';

/** Titles of a layer's figures, by the end of their id. */
const MEASURES = { Pss: 'PSS', Rss: 'RSS', HeapUsed: 'V8 heap' };

/** @returns such as `Workers PSS` */
export function measureTitle(layerTitle: string, measure: keyof typeof MEASURES): string {
  return `${layerTitle} ${MEASURES[measure]}`;
}

/** @returns the title of a layer, or of its figure: `Workers` of `worker`, `nginx PSS` of `nginxPss` */
export function titleOfLayer(id: string): string {
  const [, layer = id, measure = ''] = /^([a-z\d]*)(.*)$/.exec(id) ?? [];
  const named = layer === 'worker' ? WORKERS_TITLE : (NAMED_LAYERS as Record<string, NamedLayer>)[layer]?.title;
  const title = named ?? `${layer.charAt(0).toUpperCase()}${layer.slice(1)}`;
  if (measure in MEASURES) return measureTitle(title, measure as keyof typeof MEASURES);
  return `${title}${measure.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)}`;
}

/** In the order of tables. */
export const LAYER_NAMES = Object.keys(NAMED_LAYERS) as LayerName[];

/** One of them is in front of the workers. */
export const PROXIES = LAYER_NAMES.filter((name) => NAMED_LAYERS[name].isProxy);
