/**
 * Describes the layers of a result, such as workers, proxy and kernel. The result document contains the descriptions.
 */
import type { LayerDescription } from '../../protocol/result/memory-schema.ts';
import type { Result } from '../../protocol/result/result.ts';
import { whySlopeNotQuoted } from '../statistics/straightness.ts';
import { spacedWords } from '../text/format.ts';

/**
 * Family of layers of the whole machine. Their CPU use is in percent of all cores; the CPU use of other layers is in
 * percent of one core.
 */
export const WHOLE_MACHINE = 'system';

/** A result with descriptions of its layers. Documents of older versions have no descriptions. */
export type DescribedLayers = Pick<Result, 'memory'>;

export function layerTitle({ memory }: DescribedLayers, id: string): string {
  return memory.layers.find((layer) => layer.id === id)?.title ?? spacedWords(id);
}

/** Sorts layer ids by their order in tables. Ids without a description come last. */
export function layersInTableOrder(result: DescribedLayers, ids: string[]): string[] {
  const order = result.memory.layers.map(({ id }) => id);
  const rank = (id: string) => (order.includes(id) ? order.indexOf(id) : order.length);
  return ids.toSorted((a, b) => rank(a) - rank(b));
}

/** Returns the ids of the main memory layers, for tables and lines with little space. */
export function mainLayers(result: DescribedLayers): string[] {
  return result.memory.layers.flatMap(({ id, unit, main }) =>
    unit === 'bytes' && main && !isNoise(result, id) ? [id] : [],
  );
}

/** Returns the ids of layers whose memory has a slope, in the order of tables. */
export function slopeLayers(result: DescribedLayers): string[] {
  return layersInTableOrder(result, Object.keys(result.memory.perConnectionBytes)).filter((id) => !isNoise(result, id));
}

/**
 * Returns whether a layer only shows noise: its memory is 0 at each plateau, or it is the whole machine and its slope
 * cannot be quoted. Every program changes the machine's memory.
 */
function isNoise({ memory }: DescribedLayers, id: string): boolean {
  if (isAlwaysZero(memory, id)) return true;
  const slope = memory.perConnectionBytes[id];
  return layerFamily(id) === WHOLE_MACHINE && slope !== undefined && whySlopeNotQuoted(slope) !== undefined;
}

/**
 * Returns whether the memory of a layer is 0 at every plateau, for example because the workers start no child
 * processes.
 */
export function isAlwaysZero({ plateaus }: Pick<Result['memory'], 'plateaus'>, id: string): boolean {
  return plateaus.length > 0 && plateaus.every(({ [id]: bytes }) => bytes === 0);
}

/** Keeps the first id of each family. For example, of `workerPss` and `workerRss`, it keeps the first. */
export function firstOfEachFamily(ids: string[]): string[] {
  return ids.filter((id, index) => ids.findIndex((other) => layerFamily(other) === layerFamily(id)) === index);
}

/** Returns the memory figure, PSS or RSS, that the headline uses for these processes; otherwise the same id. */
export function headlineLayerOf({ memory }: DescribedLayers, id: string): string {
  const other = id.endsWith('Pss') ? id.replace(/Pss$/, 'Rss') : id.replace(/Rss$/, 'Pss');
  const isCounted = memory.perConnection?.parts.some(({ layer }) => layer === other);
  return isCounted && other in memory.perConnectionBytes ? other : id;
}

/** Returns the family of an id: `worker` for `workerHeapUsed`. */
export function layerFamily(id: string): string {
  return /^[a-z\d]*/.exec(id)?.[0] ?? id;
}

/** Returns the layers that have CPU figures and samples. */
export function cpuLayers(result: DescribedLayers): LayerDescription[] {
  return result.memory.layers.filter(({ unit }) => unit === 'cpuSeconds');
}

/**
 * Noise of a process's memory pages after a full garbage collection, in bytes. Free pages of helper threads are one
 * cause.
 */
export const PAGE_NOISE_BYTES = 8 * 1024 ** 2;

export const WORKER_LAYERS = ['workerPss', 'workerRss', 'workerWorkingSet'] as const;

/**
 * Returns the memory figure that represents the workers. PSS is preferred, because RSS counts shared pages once per
 * worker.
 */
export function mainWorkerLayer(bytesByLayer: Record<string, unknown>): (typeof WORKER_LAYERS)[number] {
  return WORKER_LAYERS.find((layer) => layer in bytesByLayer) ?? 'workerRss';
}
