import {
  absencesOfReadings,
  type FigureReadings,
  knownValues,
  type Sampler,
  sourcesOfReadings,
} from '../../plugin/samplers/index.ts';

/** Readings with these bytes, all from the same source. */
export function readingsOf(bytes: Record<string, number>, source = '/proc of its processes'): FigureReadings {
  return Object.fromEntries(Object.entries(bytes).map(([figure, value]) => [figure, { value, source }]));
}

export async function readAll(sampler: Sampler) {
  const readings = await sampler.reading();
  return { bytes: knownValues(readings), sources: sourcesOfReadings(readings), absent: absencesOfReadings(readings) };
}
