/** Sentences about memory per connection, as the console, Markdown and HTML have them. */
import type { Result } from '../../protocol/result/result.ts';
import { familyOf, inOrder, layerTitle, mainWorkerLayer } from '../figures/layers.ts';
import { DOUBT_TEXTS, type Doubt } from '../statistics/straightness.ts';
import { kilobytes } from './format.ts';

/** @returns `8.7 KB each at rest, 17.1 KB in service (Workers PSS)`, or why there is no such figure; null without slopes */
export function memoryHeadline(result: Result): string | null {
  const { perConnectionBytes, inService } = result.memory;
  const layer = mainWorkerLayer(perConnectionBytes);
  const [atRest, needed] = [perConnectionBytes[layer], inService?.perConnectionBytes[layer]];
  if (!atRest) return null;
  const title = layerTitle(result, layer);
  if (atRest.doubt !== undefined) return `no memory per connection (${title}: ${DOUBT_TEXTS[atRest.doubt]})`;
  if (!result.memory.collected) return `${kilobytes((needed ?? atRest).slope)} KB each in service (${title})`;
  const more = needed && needed.doubt === undefined ? ` at rest, ${kilobytes(needed.slope)} KB in service` : '';
  return `${kilobytes(atRest.slope)} KB each${more} (${title})`;
}

/** Heads the column of the slopes through the plateaus. */
export function plateauMemory({ collected }: Pick<Result['memory'], 'collected'>): string {
  return collected ? 'At rest' : 'As it was';
}

/** How the slopes came about. */
export function slopesNote({ collected }: Pick<Result['memory'], 'collected'>): string {
  const how = collected
    ? ', at rest after a garbage collection, in service before it and with the peak of hold and broadcasts.'
    : ': as it was, and in service with the peak of the hold. Nobody forced a garbage collection, so memory at rest is not known.';
  return `Slopes by least squares over the plateaus${how} Naive: (peak − baseline) ÷ connections, as in the Techracers study.`;
}

/** @returns whose the workers' figures are, where nobody can ask them: `Workers RSS: /proc of its processes` */
export function workerSources(result: Result): string[] {
  const { collected, sources } = result.memory;
  const own = inOrder(result, Object.keys(sources)).filter((layer) => !collected && familyOf(layer) === 'worker');
  return [...Map.groupBy(own, (layer) => sources[layer] as string)].map(
    ([source, layers]) => `${layers.map((layer) => layerTitle(result, layer)).join(', ')}: ${source}`,
  );
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

/** @returns what is to be known of the collections before memory at rest; empty if each was seen to be made */
export function collectionNotes({ memory: { perConnectionBytes, collectionsCounted } }: Result): string[] {
  if (collectionsCounted || !(mainWorkerLayer(perConnectionBytes) in perConnectionBytes)) return [];
  return ['That the workers collected their garbage is not checked: their version does not count its collections.'];
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
