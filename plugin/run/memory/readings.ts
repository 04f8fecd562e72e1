/**
 * Memory at rest: collected, settled, and the mean of several readings, whose scatter tells how noisy they are. In service, as it
 * is with its garbage, it is read by one `sampler.reading()` right before.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type Readings, type Sampler, valuesOf } from '../../samplers/index.ts';
import type { LayerBytes } from '../measurements/memory-measured.ts';
import type { Collector } from '../target/control-client.ts';

/** For each plateau. */
const READINGS = 3;
/** Collections of a large server take so long that there is no time for more in the pause of a scenario. */
const LONGEST_MS = 1500;
/** After a collection, for finalizers and for the kernel to take pages back; or between readings as it is. */
const SETTLE_MS = 250;
/** How long memory may go on falling. */
export const FALL_LIMIT_MS = 20_000;
/** Readings of an idle deployment, one after the other, differ by less. */
const NOISE = { bytes: 1024 ** 2, share: 0.005 };

type Collections = Awaited<ReturnType<Collector['stats']>>;
export type AtRest = Awaited<ReturnType<typeof readAtRest>>;

/**
 * Each reading makes garbage in the workers that are asked, hundreds of kilobytes of it, so each has a collection of its own.
 * @param isSame whether the connections are still those of the first reading: later ones do not count
 * @returns bytes per layer after forced collections in every worker, and their means as `layers`; `last`, the last reading with its sources and absences; and `uncollected`, workers that
 *   confirmed a collection without making any
 */
export async function readAtRest(
  collector: Collector,
  sampler: Pick<Sampler, 'reading'>,
  { count = READINGS, isSame = () => true }: { count?: number; isSame?: (() => boolean) | undefined } = {},
) {
  const before = await collector.stats();
  const readings: LayerBytes[] = [];
  let last: Readings;
  const endMs = performance.now() + LONGEST_MS;
  do {
    await collector.gc();
    await delay(SETTLE_MS);
    last = await sampler.reading();
    if (isSame()) readings.push(valuesOf(last));
  } while (readings.length < count && isSame() && performance.now() < endMs);
  const uncollected = withoutCollection(before, await collector.stats());
  return { layers: means(readings), readings, last, uncollected };
}

/**
 * Reads until the memory of the deployment no longer falls: some of it is freed late, or only by a further collection.
 * @returns the last reading, and what still fell in it when time was up
 */
export async function readSettled(
  collector: Collector,
  sampler: Pick<Sampler, 'reading' | 'layers'>,
  signal: AbortSignal,
) {
  const deadlineMs = performance.now() + FALL_LIMIT_MS;
  let before = await readAtRest(collector, sampler, { count: 1 });
  for (;;) {
    const now = await readAtRest(collector, sampler);
    const falls = fallsOf(before.readings.at(-1) ?? {}, now.readings.at(-1) ?? {}, sampler.layers);
    const uncollected = [...new Set([...before.uncollected, ...now.uncollected])];
    if (falls.length === 0 || signal.aborted || performance.now() > deadlineMs) return { ...now, uncollected, falls };
    before = { ...now, uncollected };
  }
}

/** @returns names */
function withoutCollection(before: Collections, after: Collections): string[] {
  const earlier = new Map(before.map(({ worker, collections }) => [worker, collections]));
  return after.flatMap(({ worker, collections }) => (collections <= (earlier.get(worker) ?? 0) ? [worker] : []));
}

/** Layers of the deployment that are lower than at the reading before, by RSS: PSS falls whenever another process starts that shares pages with the deployment. */
function fallsOf(before: LayerBytes, now: LayerBytes, layers: Sampler['layers']) {
  const deployment = layers.filter(({ belongsTo }) => belongsTo === 'deployment');
  return deployment.flatMap(({ id, title, figures }) => {
    const rss = figures.find(({ measure }) => measure === 'rssBytes')?.id ?? '';
    const earlier = before[rss] ?? 0;
    const bytes = earlier - (now[rss] ?? earlier);
    return bytes > Math.max(NOISE.bytes, NOISE.share * earlier) ? [{ layer: id, title, bytes }] : [];
  });
}

/** @returns the mean of each layer that all readings have: a layer that comes and goes cannot be compared */
function means(readings: LayerBytes[]): LayerBytes {
  const layers = Object.keys(readings[0] ?? {}).filter((layer) => readings.every((one) => layer in one));
  return Object.fromEntries(
    layers.map((layer) => [layer, readings.reduce((sum, one) => sum + (one[layer] as number), 0) / readings.length]),
  );
}
