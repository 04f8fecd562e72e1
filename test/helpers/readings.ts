import { absencesOf, type Readings, type Sampler, sourcesOf, valuesOf } from '../../plugin/samplers/index.ts';

/** Readings with these bytes, all from the same source. */
export function readingsOf(bytes: Record<string, number>, source = '/proc of its processes'): Readings {
  return Object.fromEntries(Object.entries(bytes).map(([figure, value]) => [figure, { value, source }]));
}

export async function readAll(sampler: Sampler) {
  const readings = await sampler.reading();
  return { bytes: valuesOf(readings), sources: sourcesOf(readings), absent: absencesOf(readings) };
}
