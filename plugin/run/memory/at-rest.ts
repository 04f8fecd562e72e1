/**
 * Reads memory at a constant number of connections, and drops memory figures that still include garbage or keep
 * falling.
 */
import { knownValues } from '../../samplers/index.ts';
import type { RunContext } from '../context.ts';
import { CONTROL_PORT } from '../measurements/absent-sources.ts';
import type { LayerBytes } from '../measurements/memory-measured.ts';
import type { CheckMoment } from '../measurements/observations.ts';
import { MEMORY_FALL_LIMIT_MS, type MemoryAtRest, readMemoryAtRest, readSettledMemory } from './readings.ts';

/**
 * Reads memory at a constant number of connections.
 * @param isSame returns whether the same connections are still open as at the first reading
 * @returns bytes of each memory figure
 */
export async function measureMemoryAtRest(
  context: RunContext,
  when: CheckMoment,
  isSame?: () => boolean,
): Promise<Omit<MemoryAtRest, 'uncollected'>> {
  const { readings, last, ...read } = await readMemoryAtRest(context.collector, context.sampler, { isSame });
  return { layers: collectedOnly(context, read, when), readings, last };
}

/**
 * Waits until memory stops falling, up to a time limit.
 * @returns bytes of each memory figure, and the figures that were still falling
 */
export async function measureSettledMemory(
  context: RunContext,
  when: CheckMoment,
): Promise<Omit<MemoryAtRest, 'uncollected'> & { falling: string[] }> {
  const { collector, sampler, measurements, signal } = context;
  const settled = await readSettledMemory(collector, sampler, signal);
  const layers = collectedOnly(context, settled, when);
  const { readings, last } = settled;
  if (settled.falls.length === 0 || signal.aborted) return { layers, readings, last, falling: [] };
  const falls = settled.falls.map(({ title, bytes }) => ({ title, bytes }));
  measurements.observations.note(
    'memoryFalls',
    { when, seconds: MEMORY_FALL_LIMIT_MS / 1000, falls },
    JSON.stringify(when),
  );
  const fell = new Set(settled.falls.map(({ layer }) => layer));
  const contain = sampler.layers.filter(
    ({ id, containsWorkers }) => fell.has(id) || (containsWorkers && fell.has('worker')),
  );
  return { layers, readings, last, falling: contain.flatMap(({ figures }) => figures.map(({ id }) => id)) };
}

export function withoutFigures(layers: LayerBytes, figures: string[]): LayerBytes {
  return Object.fromEntries(Object.entries(layers).filter(([figure]) => !figures.includes(figure)));
}

/** Drops the memory figures of workers that did not collect their garbage. */
function collectedOnly(
  context: RunContext,
  { layers, uncollected }: Pick<MemoryAtRest, 'layers' | 'uncollected'>,
  when: CheckMoment,
): LayerBytes {
  const { measurements, sampler, config } = context;
  const isInspected = Boolean(config.workerSources?.inspect);
  const isRefused = measurements.absentSources.has(CONTROL_PORT);
  if (uncollected.length === 0 && !isRefused) return layers;
  if (!isRefused) measurements.observations.note('collectionMissing', { when, workers: uncollected, isInspected });
  measurements.uncollected = sampler.layers
    .filter(({ containsWorkers }) => containsWorkers)
    .flatMap(({ figures }) => figures.map(({ id }) => id));
  return withoutFigures(layers, measurements.uncollected);
}

/** Reads memory after the drain, while all connections are still open. */
export async function measureAfterBroadcasts(context: RunContext): Promise<void> {
  const { sampler, measurements, signal } = context;
  if (signal.aborted) return;
  measurements.inServiceAfterBroadcasts = knownValues(await sampler.reading());
  measurements.afterBroadcasts = (await measureMemoryAtRest(context, { at: 'broadcasts' })).layers;
}
