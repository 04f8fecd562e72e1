/**
 * Reads memory at a constant number of connections: the mean of several readings, each after a forced garbage
 * collection. The spread of the readings shows the noise.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type FigureReadings, knownValues, type Sampler } from '../../samplers/index.ts';
import type { LayerBytes } from '../measurements/memory-measured.ts';
import type { GarbageCollector } from '../target/control-client.ts';

const READINGS = 3;
/**
 * Time in milliseconds after which no further reading starts: garbage collections of a large server are slow, and the
 * scenario's pause is limited.
 */
const LONGEST_MS = 1500;
/**
 * Time to wait after a garbage collection, in milliseconds: finalizers run, and the kernel takes free memory pages
 * back.
 */
const SETTLE_MS = 250;
/** Number of garbage collections before the first reading. A third collection frees at most 1 MB more. */
const COLLECTIONS_BEFORE = 2;
export const MEMORY_FALL_LIMIT_MS = 20_000;
/** Maximum difference between successive readings of an idle deployment. */
const NOISE = { bytes: 1024 ** 2, share: 0.005 };

type Collections = Awaited<ReturnType<GarbageCollector['stats']>>;
export type MemoryAtRest = Awaited<ReturnType<typeof readMemoryAtRest>>;

/**
 * Reads memory several times, each time after a garbage collection, because a reading itself leaves hundreds of
 * kilobytes of garbage in each worker.
 * @param isSame returns whether the same connections are still open as at the first reading; if not, no later reading
 * counts
 * @returns `readings`: bytes of each memory figure; `layers`: means of the readings; `last`: the last reading with
 * sources and absences; `uncollected`: workers that confirmed a collection but made none
 */
export async function readMemoryAtRest(
  collector: GarbageCollector,
  sampler: Pick<Sampler, 'reading'>,
  { count = READINGS, isSame = () => true }: { count?: number; isSame?: (() => boolean) | undefined } = {},
) {
  const before = await collector.stats();
  const readings: LayerBytes[] = [];
  let last: FigureReadings;
  const endMs = performance.now() + LONGEST_MS;
  do {
    await collector.gc();
    await delay(SETTLE_MS);
    last = await sampler.reading();
    if (isSame()) readings.push(knownValues(last));
  } while (readings.length < count && isSame() && performance.now() < endMs);
  const uncollected = withoutCollection(before, await collector.stats());
  return { layers: means(readings), readings, last, uncollected };
}

/**
 * Reads memory until it stops falling: a process frees some memory late, or only in a further garbage collection.
 * @returns the last reading, and the figures that were still falling at the time limit
 */
export async function readSettledMemory(
  collector: GarbageCollector,
  sampler: Pick<Sampler, 'reading' | 'layers'>,
  signal: AbortSignal,
) {
  const deadlineMs = performance.now() + MEMORY_FALL_LIMIT_MS;
  let before = await readMemoryAtRest(collector, sampler, { count: COLLECTIONS_BEFORE });
  for (;;) {
    const now = await readMemoryAtRest(collector, sampler);
    const falls = fallsOf(before.readings.at(-1) ?? {}, now.readings.at(-1) ?? {}, sampler.layers);
    const uncollected = [...new Set([...before.uncollected, ...now.uncollected])];
    if (falls.length === 0 || signal.aborted || performance.now() > deadlineMs) return { ...now, uncollected, falls };
    before = { ...now, uncollected };
  }
}

/**
 * Returns the names of workers that made no garbage collection between two readings of their counters, with the reason
 * if known.
 */
function withoutCollection(before: Collections, after: Collections): string[] {
  const earlier = new Map(before.map(({ worker, collections }) => [worker, collections]));
  return after.flatMap(({ worker, collections, failure }) => {
    if (collections > (earlier.get(worker) ?? 0)) return [];
    return failure === undefined ? worker : `${worker} (${failure})`;
  });
}

/**
 * Finds layers of the deployment whose RSS fell. PSS is not used here, because it also falls when another process
 * begins to share pages.
 */
function fallsOf(before: LayerBytes, now: LayerBytes, layers: Sampler['layers']) {
  const deployment = layers.filter(({ belongsTo }) => belongsTo === 'deployment');
  return deployment.flatMap(({ id, title, figures }) => {
    const rss = figures.find(({ measure }) => measure === 'rssBytes')?.id ?? '';
    const earlier = before[rss] ?? 0;
    const bytes = earlier - (now[rss] ?? earlier);
    return bytes > Math.max(NOISE.bytes, NOISE.share * earlier) ? [{ layer: id, title, bytes }] : [];
  });
}

/** Returns the mean of each figure that all readings contain. */
function means(readings: LayerBytes[]): LayerBytes {
  const layers = Object.keys(readings[0] ?? {}).filter((layer) => readings.every((reading) => layer in reading));
  return Object.fromEntries(
    layers.map((layer) => [
      layer,
      readings.reduce((sum, reading) => sum + (reading[layer] as number), 0) / readings.length,
    ]),
  );
}
