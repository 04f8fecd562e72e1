/**
 * Describes the layers of a result, such as workers, proxy and kernel. The result document contains the descriptions.
 */
import type { LayerDescription } from '../../protocol/result/memory-schema.ts';
import type { Result } from '../../protocol/result/result.ts';
import { whySlopeNotQuoted } from '../statistics/straightness.ts';
import { spacedWords } from '../text/format.ts';

/**
 * Family of layers of the whole machine. Its CPU is in percent of all cores; other layers are in percent of one core.
 */
export const WHOLE_MACHINE = 'system';

/** A result with descriptions of its layers. Documents of older versions have none. */
export type DescribedLayers = Pick<Result, 'memory'>;

export function layerTitle({ memory }: DescribedLayers, id: string): string {
  return memory.layers.find((layer) => layer.id === id)?.title ?? spacedWords(id);
}

/** Sorts layers by their order in tables. Layers without a description come last. */
export function layersInTableOrder(result: DescribedLayers, ids: string[]): string[] {
  const order = result.memory.layers.map(({ id }) => id);
  const rank = (id: string) => (order.includes(id) ? order.indexOf(id) : order.length);
  return ids.toSorted((a, b) => rank(a) - rank(b));
}

/** Returns the main memory layers, for tables and lines with little space. */
export function mainLayers(result: DescribedLayers): string[] {
  return result.memory.layers.flatMap(({ id, unit, main }) =>
    unit === 'bytes' && main && !isNoise(result, id) ? [id] : [],
  );
}

/** Layers with a slope, in the order of tables. */
export function slopeLayers(result: DescribedLayers): string[] {
  return layersInTableOrder(result, Object.keys(result.memory.perConnectionBytes)).filter((id) => !isNoise(result, id));
}

/**
 * Returns whether a layer only shows noise: it is 0 at each plateau, or it is the whole machine without a quotable
 * slope. Every program changes the machine's memory.
 */
function isNoise({ memory }: DescribedLayers, id: string): boolean {
  if (isAlwaysZero(memory, id)) return true;
  const slope = memory.perConnectionBytes[id];
  return layerFamily(id) === WHOLE_MACHINE && slope !== undefined && whySlopeNotQuoted(slope) !== undefined;
}

/** Returns whether a layer is 0 at every plateau, such as child processes of workers that start none. */
export function isAlwaysZero({ plateaus }: Pick<Result['memory'], 'plateaus'>, id: string): boolean {
  return plateaus.length > 0 && plateaus.every(({ [id]: bytes }) => bytes === 0);
}

/** Keeps the first layer of each family: of `workerPss` and `workerRss`, the first. */
export function firstOfEachFamily(ids: string[]): string[] {
  return ids.filter((id, index) => ids.findIndex((other) => layerFamily(other) === layerFamily(id)) === index);
}

/** Returns the layer that the headline uses for these processes, PSS or RSS; otherwise the same id. */
export function headlineLayerOf({ memory }: DescribedLayers, id: string): string {
  const other = id.endsWith('Pss') ? id.replace(/Pss$/, 'Rss') : id.replace(/Rss$/, 'Pss');
  const isCounted = memory.perConnection?.parts.some(({ layer }) => layer === other);
  return isCounted && other in memory.perConnectionBytes ? other : id;
}

/** Returns the family of a layer: `worker` for `workerHeapUsed`. */
export function layerFamily(id: string): string {
  return /^[a-z\d]*/.exec(id)?.[0] ?? id;
}

/** Layers that have CPU use and samples. */
export function cpuLayers(result: DescribedLayers): LayerDescription[] {
  return result.memory.layers.filter(({ unit }) => unit === 'cpuSeconds');
}

/** Noise of a process's pages after a full garbage collection, in bytes. Free pages of helper threads are one cause. */
export const PAGE_NOISE_BYTES = 8 * 1024 ** 2;

export const WORKER_LAYERS = ['workerPss', 'workerRss', 'workerWorkingSet'] as const;

/**
 * Layers with the workers' memory, in order of preference. PSS comes first, because RSS counts shared pages once per
 * worker.
 */
export function mainWorkerLayer(bytesByLayer: Record<string, unknown>): (typeof WORKER_LAYERS)[number] {
  return WORKER_LAYERS.find((layer) => layer in bytesByLayer) ?? 'workerRss';
}
