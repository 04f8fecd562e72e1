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

/** In the order of tables. */
export const LAYER_NAMES = Object.keys(NAMED_LAYERS) as LayerName[];

/** One of them is in front of the workers. */
export const PROXIES = LAYER_NAMES.filter((name) => NAMED_LAYERS[name].isProxy);
