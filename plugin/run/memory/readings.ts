/**
 * Memory in service, as it is with its garbage; and at rest: collected, settled, and the median of several readings, because
 * single ones jump.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { WorkerStats } from '../../../protocol/events.ts';
import type { ControlClients, Sampler } from '../../samplers/index.ts';
import type { LayerBytes } from '../measurements/memory.ts';

const READINGS = 3;
const BETWEEN_READINGS_MS = 200;
/** After a collection, for finalizers and for the kernel to take pages back. */
const SETTLE_MS = 300;
/** How long memory may go on falling. */
export const FALL_LIMIT_MS = 20_000;
/** Readings of an idle deployment, one after the other, differ by less. */
const NOISE = { bytes: 1024 ** 2, share: 0.005 };

type Control = Pick<ControlClients, 'gc' | 'stats'>;

export interface AtRest {
  layers: LayerBytes;
  /** Workers that confirmed the collection, although they did not make any. */
  uncollected: string[];
}

/** A layer of the deployment that is lower than at the reading before. */
export interface Fall {
  layer: string;
  title: string;
  bytes: number;
}

/** @returns bytes per layer as they are; to be read right before `readAtRest`, which collects the garbage */
export function readInService(sampler: Pick<Sampler, 'reading'>): Promise<LayerBytes> {
  return sampler.reading();
}

/** @returns bytes per layer, after a forced collection in every worker */
export async function readAtRest(control: Control, sampler: Pick<Sampler, 'reading'>): Promise<AtRest> {
  const before = await control.stats();
  await control.gc();
  await delay(SETTLE_MS);
  const uncollected = withoutCollection(before, await control.stats());
  return { layers: await readAsItIs(sampler), uncollected };
}

/** @returns bytes per layer, with whatever garbage there is */
export async function readAsItIs(sampler: Pick<Sampler, 'reading'>): Promise<LayerBytes> {
  const readings: LayerBytes[] = [];
  for (let index = 0; index < READINGS; index++) {
    if (index > 0) await delay(BETWEEN_READINGS_MS);
    readings.push(await sampler.reading());
  }
  return medians(readings);
}

/**
 * Reads until the memory of the deployment no longer falls: some of it is freed late, or only by a further collection.
 * @returns the last reading, and what still fell in it when time was up
 */
export async function readSettled(
  control: Control,
  sampler: Pick<Sampler, 'reading' | 'layers'>,
  signal: AbortSignal,
): Promise<AtRest & { falls: Fall[] }> {
  const deadlineMs = performance.now() + FALL_LIMIT_MS;
  let before = await readAtRest(control, sampler);
  for (;;) {
    const now = await readAtRest(control, sampler);
    const falls = fallsOf(before.layers, now.layers, sampler.layers);
    const uncollected = [...new Set([...before.uncollected, ...now.uncollected])];
    if (falls.length === 0 || signal.aborted || performance.now() > deadlineMs) return { ...now, uncollected, falls };
    before = { ...now, uncollected };
  }
}

/** Where a worker does not count its collections, its word is all there is. @returns names */
function withoutCollection(before: WorkerStats[], after: WorkerStats[]): string[] {
  return after.flatMap(({ worker, collections }, index) => {
    const earlier = before[index]?.collections;
    return earlier !== undefined && collections !== undefined && collections <= earlier ? [worker] : [];
  });
}

/** By RSS: PSS falls whenever another process starts that shares pages with the deployment. */
function fallsOf(before: LayerBytes, now: LayerBytes, layers: Sampler['layers']): Fall[] {
  const deployment = layers.filter(({ belongsTo }) => belongsTo === 'deployment');
  return deployment.flatMap(({ id, title, figures }) => {
    const rss = figures.find(({ sampleKey }) => sampleKey === 'rssBytes')?.id ?? '';
    const earlier = before[rss] ?? 0;
    const bytes = earlier - (now[rss] ?? earlier);
    return bytes > Math.max(NOISE.bytes, NOISE.share * earlier) ? [{ layer: id, title, bytes }] : [];
  });
}

/** @returns the median of each layer that all readings have: a layer that comes and goes cannot be compared */
function medians(readings: LayerBytes[]): LayerBytes {
  const layers = Object.keys(readings[0] ?? {}).filter((layer) => readings.every((one) => layer in one));
  return Object.fromEntries(
    layers.map((layer) => {
      const sorted = readings.map((one) => one[layer] as number).sort((a, b) => a - b);
      return [layer, sorted[Math.floor(sorted.length / 2)] as number];
    }),
  );
}
