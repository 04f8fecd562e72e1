/**
 * Layers of a deployment that the option `layers` can name, such as a proxy or Redis. `plugin/samplers/layers/` reads
 * their figures. A proxy's memory is part of the cost of a connection.
 */

interface NamedLayer {
  title: string;
  isProxy: boolean;
  /** Whether the included stack can contain the layer. Other layers are only measured if the settings name them. */
  ofStack: boolean;
}

export const NAMED_LAYERS = {
  nginx: { title: 'nginx', isProxy: true, ofStack: true },
  haproxy: { title: 'HAProxy', isProxy: true, ofStack: false },
  redis: { title: 'Redis', isProxy: false, ofStack: true },
} as const satisfies Record<string, NamedLayer>;

export type LayerName = keyof typeof NAMED_LAYERS;

export const WORKERS_TITLE = 'Workers';

/** Titles of a layer's memory figures. The key is the last part of the figure's id. */
const MEASURES = { Pss: 'PSS', Rss: 'RSS', HeapUsed: 'heap' };

/** Returns the title of a layer's figure, such as `Workers PSS`. */
export function layerFigureTitle(layerTitle: string, measure: keyof typeof MEASURES): string {
  return `${layerTitle} ${MEASURES[measure]}`;
}

/** Returns the title of a layer or of one of its figures: `Workers` for `worker`, `nginx PSS` for `nginxPss`. */
export function titleOfLayer(id: string): string {
  const [, layer = id, measure = ''] = /^([a-z\d]*)(.*)$/.exec(id) ?? [];
  const named = layer === 'worker' ? WORKERS_TITLE : (NAMED_LAYERS as Record<string, NamedLayer>)[layer]?.title;
  const title = named ?? `${layer.charAt(0).toUpperCase()}${layer.slice(1)}`;
  if (measure in MEASURES) return layerFigureTitle(title, measure as keyof typeof MEASURES);
  return `${title}${measure.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)}`;
}

/** Names of the layers in the order of tables. */
export const LAYER_NAMES = Object.keys(NAMED_LAYERS) as LayerName[];

/** Layers that can be proxies in front of the workers. */
export const PROXY_LAYER_NAMES = LAYER_NAMES.filter((name) => NAMED_LAYERS[name].isProxy);
