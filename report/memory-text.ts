/** Sentences about memory per connection, as the console, Markdown and HTML have them. */
import type { Result } from '../protocol/result.ts';
import { kilobytes } from './format.ts';
import { inOrder, layerTitle, mainWorkerLayer } from './layers.ts';
import { DOUBT_TEXTS, type Doubt } from './straightness.ts';

/** @returns `8.7 KB each at rest, 17.1 KB in service (Workers PSS)`, or why there is no such figure; null without slopes */
export function memoryHeadline(result: Result): string | null {
  const { perConnectionBytes, inService } = result.memory;
  const layer = mainWorkerLayer(perConnectionBytes);
  const [atRest, needed] = [perConnectionBytes[layer], inService?.perConnectionBytes[layer]];
  if (!atRest) return null;
  const title = layerTitle(result, layer);
  if (atRest.doubt !== undefined) return `no memory per connection (${title}: ${DOUBT_TEXTS[atRest.doubt]})`;
  const more = needed && needed.doubt === undefined ? ` at rest, ${kilobytes(needed.slope)} KB in service` : '';
  return `${kilobytes(atRest.slope)} KB each${more} (${title})`;
}

/** @returns for each doubt, the layers whose slope is not to be quoted: `Redis used_memory: no rise beyond its noise` */
export function doubts(result: Result): string[] {
  const { perConnectionBytes } = result.memory;
  const byDoubt = new Map<Doubt, string[]>();
  for (const layer of inOrder(result, Object.keys(perConnectionBytes))) {
    const { doubt } = perConnectionBytes[layer] ?? {};
    if (doubt !== undefined) byDoubt.set(doubt, [...(byDoubt.get(doubt) ?? []), layerTitle(result, layer)]);
  }
  return [...byDoubt].map(([doubt, layers]) => `${layers.join(', ')}: ${DOUBT_TEXTS[doubt]}`);
}

/** @returns why no capacity follows from the memory; null where one does, or where nothing was measured */
export function noCapacity({ memory, capacity }: Result): string | null {
  if (capacity.memoryLimited) return null;
  const layer = mainWorkerLayer(memory.perConnectionBytes);
  const doubt = memory.perConnectionBytes[layer]?.doubt ?? memory.inService?.perConnectionBytes[layer]?.doubt;
  return doubt === undefined ? null : DOUBT_TEXTS[doubt];
}

/** `in service`, or `at rest` in results of older versions. */
export function basisOf({ basis }: NonNullable<Result['capacity']['memoryLimited']>): string {
  return basis === 'inService' ? 'in service' : 'at rest';
}
