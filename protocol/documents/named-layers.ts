/**
 * Layers of a deployment besides its workers, which the option `layers` can name. Their figures are in `plugin/samplers/layers/`. A proxy's
 * memory is part of the cost of a connection.
 */

interface NamedLayer {
  title: string;
  isProxy: boolean;
  /** Whether a stack that the run starts can have it; otherwise only settings can add it to a run. */
  ofStack: boolean;
}

export const NAMED_LAYERS = {
  nginx: { title: 'nginx', isProxy: true, ofStack: true },
  haproxy: { title: 'HAProxy', isProxy: true, ofStack: false },
  redis: { title: 'Redis', isProxy: false, ofStack: true },
} as const satisfies Record<string, NamedLayer>;

export type LayerName = keyof typeof NAMED_LAYERS;

/** Title of the workers' layer. */
export const WORKERS_TITLE = 'Workers';

/** Titles of a layer's figures, by the suffix of their id. */
const MEASURES = { Pss: 'PSS', Rss: 'RSS', HeapUsed: 'heap' };

/** Returns, for example, `Workers PSS`. */
export function measureTitle(layerTitle: string, measure: keyof typeof MEASURES): string {
  return `${layerTitle} ${MEASURES[measure]}`;
}

/** Returns the title of a layer or of its figure: `Workers` for `worker`, `nginx PSS` for `nginxPss`. */
export function titleOfLayer(id: string): string {
  const [, layer = id, measure = ''] = /^([a-z\d]*)(.*)$/.exec(id) ?? [];
  const named = layer === 'worker' ? WORKERS_TITLE : (NAMED_LAYERS as Record<string, NamedLayer>)[layer]?.title;
  const title = named ?? `${layer.charAt(0).toUpperCase()}${layer.slice(1)}`;
  if (measure in MEASURES) return measureTitle(title, measure as keyof typeof MEASURES);
  return `${title}${measure.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)}`;
}

/** Names in the order of tables. */
export const LAYER_NAMES = Object.keys(NAMED_LAYERS) as LayerName[];

/** Layers that can be in front of the workers. */
export const PROXIES = LAYER_NAMES.filter((name) => NAMED_LAYERS[name].isProxy);
