/** Readings of layers. Each reading is a value with its source, or the reason why the value is absent. */
import { absenceOf, NotInRunError, type SourceAbsence } from './absence.ts';
import type { Layer } from './layers/layer.ts';
import type { SamplerInputs } from './sampler-inputs.ts';

/** `value`: bytes, microseconds of CPU time, or a count. */
export type FigureReading = { value: number; source: string } | { absent: SourceAbsence };

/** Readings by figure id: `workerRss`, `kernelTcp`, … */
export type FigureReadings = Record<string, FigureReading>;

/**
 * Reads a value from the first source of the layer that can read it. Never rejects.
 * @returns the value. If no source can read it: the reason of the last source that is part of the run, or else of the
 * first source
 */
export async function readLayerFigure(
  { sources }: Layer,
  measure: string,
  inputs: SamplerInputs,
): Promise<FigureReading> {
  const reasons: unknown[] = [];
  for (const { name, measures } of sources) {
    try {
      const value = await measures[measure]?.(inputs);
      if (value !== undefined) return { value, source: name };
    } catch (reason) {
      reasons.push(reason);
    }
  }
  return { absent: absenceOf(reasons.findLast((reason) => !(reason instanceof NotInRunError)) ?? reasons[0]) };
}

/**
 * Returns the layer's values for a row of the time series, all from one source; empty if no source has any. Never
 * rejects.
 */
export async function readLayerSample(
  { sources, sampled = [] }: Layer,
  inputs: SamplerInputs,
): Promise<Record<string, number>> {
  for (const { measures } of sources) {
    const read = sampled.map(async (key) => [key, await measures[key]?.(inputs)] as const);
    const values = (await Promise.allSettled(read)).flatMap((outcome) =>
      outcome.status === 'fulfilled' ? [outcome.value] : [],
    );
    const found = values.flatMap(([key, value]) => (value === undefined ? [] : [[key, value] as const]));
    if (found.length > 0) return Object.fromEntries(found);
  }
  return {};
}

/** Returns the known values by the id of the figure. */
export function knownValues(readings: FigureReadings): Record<string, number> {
  return mapReadings(readings, (reading) => ('value' in reading ? reading.value : undefined));
}

/** Returns the source of each known value, by the id of the figure. */
export function sourcesOfReadings(readings: FigureReadings): Record<string, string> {
  return mapReadings(readings, (reading) => ('source' in reading ? reading.source : undefined));
}

/** Returns why each absent value is missing, by the id of the figure. */
export function absencesOfReadings(readings: FigureReadings): Record<string, string> {
  return mapReadings(readings, (reading) => ('absent' in reading ? reading.absent.detail : undefined));
}

function mapReadings<T>(readings: FigureReadings, of: (reading: FigureReading) => T | undefined): Record<string, T> {
  const entries = Object.entries(readings).map(([id, reading]) => [id, of(reading)] as const);
  return Object.fromEntries(entries.flatMap(([id, value]) => (value === undefined ? [] : [[id, value]])));
}
