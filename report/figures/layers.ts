/** Layers of a result, as described by the document itself. */
import type { LayerDescription } from '../../protocol/result/memory-schema.ts';
import type { Result } from '../../protocol/result/result.ts';
import { whyNot } from '../statistics/straightness.ts';
import { spaced } from '../text/format.ts';

/** Whether its CPU samples are percent of all cores; those of other layers are percent of one core. */
export const WHOLE_MACHINE = 'system';

/** A result that describes its layers; documents of older versions describe none. */
export type Described = Pick<Result, 'memory'>;

export function layerTitle({ memory }: Described, id: string): string {
  return memory.layers.find((layer) => layer.id === id)?.title ?? spaced(id);
}

/** Returns described layers in the order of tables, then the others. */
export function inOrder(result: Described, ids: string[]): string[] {
  const order = result.memory.layers.map(({ id }) => id);
  const rank = (id: string) => (order.includes(id) ? order.indexOf(id) : order.length);
  return ids.toSorted((a, b) => rank(a) - rank(b));
}

/** Main memory layers, for places with room for only a few. */
export function mainLayers(result: Described): string[] {
  return result.memory.layers.flatMap(({ id, unit, main }) =>
    unit === 'bytes' && main && !isNoise(result, id) ? [id] : [],
  );
}

/** Layers with a slope, in the order of tables. */
export function slopeLayers(result: Described): string[] {
  return inOrder(result, Object.keys(result.memory.perConnectionBytes)).filter((id) => !isNoise(result, id));
}

/** Layers that are 0 at each plateau. Also the whole machine without a quotable slope, because every program changes its memory. */
function isNoise({ memory }: Described, id: string): boolean {
  if (isNothing(memory, id)) return true;
  const slope = memory.perConnectionBytes[id];
  return familyOf(id) === WHOLE_MACHINE && slope !== undefined && whyNot(slope) !== undefined;
}

/** Layers such as child processes of workers without any. */
export function isNothing({ plateaus }: Pick<Result['memory'], 'plateaus'>, id: string): boolean {
  return plateaus.length > 0 && plateaus.every(({ [id]: bytes }) => bytes === 0);
}

/** Returns the first id of each family, such as that of `workerPss` and `workerRss`. */
export function oneOfEach(ids: string[]): string[] {
  return ids.filter((id, index) => ids.findIndex((other) => familyOf(other) === familyOf(id)) === index);
}

/** Returns PSS or RSS of the same processes, whichever the headline counts; otherwise the same id. */
export function asCounted({ memory }: Described, id: string): string {
  const other = id.endsWith('Pss') ? id.replace(/Pss$/, 'Rss') : id.replace(/Rss$/, 'Pss');
  const isCounted = memory.perConnection?.parts.some(({ layer }) => layer === other);
  return isCounted && other in memory.perConnectionBytes ? other : id;
}

/** Returns `worker` for `workerHeapUsed`. */
export function familyOf(id: string): string {
  return /^[a-z\d]*/.exec(id)?.[0] ?? id;
}

/** Layers with CPU and samples. */
export function cpuLayers(result: Described): LayerDescription[] {
  return result.memory.layers.filter(({ unit }) => unit === 'cpuSeconds');
}

/** Noise of the pages of a process after a full garbage collection, such as free pages of helper threads. */
export const PAGE_NOISE_BYTES = 8 * 1024 ** 2;

export const WORKER_LAYERS = ['workerPss', 'workerRss', 'workerWorkingSet'] as const;

/** Layer of the workers' cost per connection: PSS if available, because RSS counts shared pages once per worker; else the container. */
export function mainWorkerLayer(bytesByLayer: Record<string, unknown>): (typeof WORKER_LAYERS)[number] {
  return WORKER_LAYERS.find((layer) => layer in bytesByLayer) ?? 'workerRss';
}
