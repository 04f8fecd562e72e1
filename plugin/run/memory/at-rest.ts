/** Memory at rest as a run takes it: what is not at rest is named, and has no figure. */
import { addWarning, type RunContext } from '../context.ts';
import type { LayerBytes } from '../measurements/memory.ts';
import { type AtRest, FALL_LIMIT_MS, readAtRest, readSettled } from './readings.ts';

const MB = 1024 ** 2;

/**
 * @param when as in "at 1000 connections"
 * @param isSame whether the connections are still those of the first reading
 * @returns bytes per layer
 */
export async function measureAtRest(
  context: RunContext,
  when: string,
  isSame?: () => boolean,
): Promise<Pick<AtRest, 'layers' | 'readings'>> {
  const read = await readAtRest(context.control, context.sampler, { isSame });
  return { layers: collectedOnly(context, read, when), readings: read.readings };
}

/**
 * Waits until memory no longer falls, within a limit.
 * @param so what follows if it still falls then
 * @returns bytes per layer, and the figures that still fall
 */
export async function measureSettled(
  context: RunContext,
  when: string,
  so: string,
): Promise<Pick<AtRest, 'layers' | 'readings'> & { falling: string[] }> {
  const { control, sampler, signal } = context;
  const settled = await readSettled(control, sampler, signal);
  const layers = collectedOnly(context, settled, when);
  const { readings } = settled;
  if (settled.falls.length === 0 || signal.aborted) return { layers, readings, falling: [] };
  const what = settled.falls.map(describe).join(' and ');
  const message = `${when}, the memory of ${what} still fell after ${FALL_LIMIT_MS / 1000} s: ${so}`;
  const fix = 'see what else works on this server, or frees memory by a timer, and let it come to rest first';
  addWarning(context, 'SERVER_NOT_IDLE', message, fix);
  const fell = new Set(settled.falls.map(({ layer }) => layer));
  const contain = sampler.layers.filter(
    ({ id, containsWorkers }) => fell.has(id) || (containsWorkers && fell.has('worker')),
  );
  return { layers, readings, falling: contain.flatMap(({ figures }) => figures.map(({ id }) => id)) };
}

export function without(layers: LayerBytes, figures: string[]): LayerBytes {
  return Object.fromEntries(Object.entries(layers).filter(([figure]) => !figures.includes(figure)));
}

/** Garbage of a worker that did not collect is in its own figures and in those of the whole machine. */
function collectedOnly(context: RunContext, { layers, uncollected }: AtRest, when: string): LayerBytes {
  if (uncollected.length === 0) return layers;
  const { measurements, sampler } = context;
  // Usually the same at the next readings.
  if (measurements.uncollected.length === 0) {
    const who = uncollected.join(', ');
    addWarning(context, 'COLLECTION_MISSING', `${when}, ${who} confirmed a garbage collection but made none`);
  }
  measurements.uncollected = sampler.layers
    .filter(({ containsWorkers }) => containsWorkers)
    .flatMap(({ figures }) => figures.map(({ id }) => id));
  return without(layers, measurements.uncollected);
}

function describe({ title, bytes }: { title: string; bytes: number }): string {
  return `${title} (by ${(bytes / MB).toFixed(1)} MB since the reading before)`;
}

/** At full target, when all broadcasts are through. */
export async function measureAfterBroadcasts(context: RunContext): Promise<void> {
  const { sampler, measurements, signal } = context;
  if (signal.aborted) return;
  const inService = await sampler.reading();
  measurements.inServiceAfterBroadcasts = inService;
  measurements.afterBroadcasts = (await measureAtRest(context, 'after the broadcasts')).layers;
}
