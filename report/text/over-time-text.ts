/** Sentences about memory over time, as the console, Markdown and HTML have them. */
import type { Drift, OverTimeResult } from '../../protocol/result/over-time.ts';
import type { Result } from '../../protocol/result/result.ts';
import { familyOf, inOrder, layersOf, layerTitle } from '../figures/layers.ts';
import { counted, integer, sizeOf } from './format.ts';

/**
 * @param collected if not, what grows may be garbage, and is no leak
 * @returns `leaks 20.1 KB per connection (19.8 KB to 20.4 KB)`, or `no leak above 64 B per connection`
 */
export function driftAnswer(
  { leaks, bytesPerConnection, low95, high95, noLeakAbove }: Drift,
  collected = true,
): string {
  if (leaks === null || low95 === null || high95 === null || noLeakAbove === null) {
    return 'not known: that takes three readings';
  }
  if (!leaks) return `no ${collected ? 'leak' : 'growth'} above ${sizeOf(noLeakAbove)} per connection`;
  const verb = collected ? 'leaks' : 'grows by';
  return `${verb} ${sizeOf(bytesPerConnection)} per connection (${sizeOf(low95)} to ${sizeOf(high95)})`;
}

/** As `driftAnswer`: nobody collects the garbage of the generator, nor, in some runs, that of the workers. */
export function answerOf(result: Result, layer: string): string {
  const { overTime, layers } = result.memory;
  const drift = overTime?.drift[layer];
  if (!drift) return 'not measured';
  const ofGenerator = layers.find(({ id }) => id === layer)?.belongsTo === 'generator';
  return driftAnswer(drift, !ofGenerator && (overTime.collected || familyOf(layer) !== 'worker'));
}

/** Memory of the process counts shared pages in full: those that others share move PSS, too. */
const ANSWERING = ['workerRss', 'workerWorkingSet', 'workerHeapUsed', 'workerExternal'];

/**
 * Of the workers: the leak, if any of their figures shows one; else the least that would have shown in all of their memory.
 * @returns null without readings of theirs
 */
export function workersDrift({ drift }: OverTimeResult): { layer: string; drift: Drift } | null {
  const found = ANSWERING.flatMap((layer) => (drift[layer] ? [{ layer, drift: drift[layer] }] : []));
  return found.find(({ drift: one }) => one.leaks) ?? found[0] ?? null;
}

/** @returns `no leak above 64 B per connection that came and went (Workers RSS)`; null for other runs */
export function overTimeHeadline(result: Result): string | null {
  const { overTime } = result.memory;
  if (!overTime) return null;
  const workers = workersDrift(overTime);
  if (!workers) return 'too few readings of the workers’ memory to tell whether they leak';
  const garbage = overTime.collected ? '' : ', garbage included';
  return `${answerOf(result, workers.layer).replace('per connection', 'per connection that came and went')} (${layerTitle(result, workers.layer)}${garbage})`;
}

/** @returns `6 waves of 10,000 connections`, or `1,512 connections at once, 29,000 came and went`; null for other runs */
export function comesAndGoes({ memory: { overTime }, connections: { peak, opened } }: Result): string | null {
  if (!overTime) return null;
  if (overTime.kind === 'waves') return `${counted(overTime.peaks.length, 'wave')} of ${integer(peak)} connections`;
  return `${integer(peak)} connections at once, ${integer(opened)} came and went`;
}

/** Layers of the table: the main ones and those with an answer about the workers; then the generator's own. */
export function driftLayers(result: Result): string[] {
  const { overTime } = result.memory;
  const layers = layersOf(result);
  return inOrder(result, Object.keys(overTime?.drift ?? {})).filter((id) => {
    const layer = layers.find((one) => one.id === id);
    if (ANSWERING.includes(id)) return true;
    return layer?.belongsTo === 'generator' ? /Rss$/.test(id) : layer?.belongsTo === 'deployment' && layer.main;
  });
}

/** Layers of the table of readings: the machine moves with everything that runs on it. */
export function readingLayers(result: Result): string[] {
  const { overTime } = result.memory;
  return layersOf(result).flatMap(({ id, unit, main, belongsTo }) => {
    const read = overTime?.readings.some(({ bytes }) => id in bytes);
    return read && unit === 'bytes' && main && belongsTo === 'deployment' ? [id] : [];
  });
}

/** How the figures came about. */
export function overTimeNotes({ memory: { overTime } }: Result): string[] {
  if (!overTime) return [];
  const { kind, collected, readings, warmUpReadings } = overTime;
  const when = kind === 'waves' ? 'when all of a wave had left' : 'while connections came and went';
  const how = collected
    ? 'after a forced garbage collection'
    : 'without a forced garbage collection: what grows may be garbage';
  const used = readings.length - warmUpReadings;
  const left = warmUpReadings === 1 ? 'reading is' : `${integer(warmUpReadings)} are`;
  const first = warmUpReadings > 0 ? ` The first ${left} left out as warm-up.` : '';
  return [
    `Memory was read ${when}, ${how}. The line goes through ${counted(used, 'reading')}, against the connections that had left; 95 % intervals.${first}`,
    'A rise of less than 1 MB over the whole run is no leak: readings of an idle server differ by as much.',
  ];
}

/** Bytes per wave, or per hour where there are none. */
export function pace({ bytesPerWave, bytesPerHour }: Drift): number {
  return bytesPerWave ?? bytesPerHour;
}

const MAX_ROWS = 60;

/** Rows of a table of readings: the peak of a wave and what was left, or what was read; evenly thinned where there are many. */
export function readingRows({ readings, peaks }: OverTimeResult): {
  reading: OverTimeResult['readings'][number];
  peak: OverTimeResult['peaks'][number] | undefined;
}[] {
  const step = Math.ceil(readings.length / MAX_ROWS);
  const shown = readings.filter((_, index) => (readings.length - 1 - index) % step === 0);
  return shown.map((reading) => ({ reading, peak: peaks.findLast(({ t }) => t < reading.t) }));
}
