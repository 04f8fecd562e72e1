/** The highest reading of each figure; for some, the time series has the peaks between the readings. */
import type { Measurements } from '../../run/measurements/measurements.ts';
import type { LayerBytes } from '../../run/measurements/memory.ts';
import type { LayerSample, SampleRow, Sampler } from '../../samplers/index.ts';

export function peaksOf(
  { sharedHost }: Pick<Measurements, 'sharedHost'>,
  { layers }: Pick<Sampler, 'layers'>,
  readings: LayerBytes[],
  samples: SampleRow[],
): LayerBytes {
  const peak: LayerBytes = {};
  const raise = (figure: string, bytes: number | undefined) => {
    if (bytes !== undefined) peak[figure] = Math.max(bytes, peak[figure] ?? bytes);
  };
  for (const reading of readings) {
    for (const [figure, bytes] of Object.entries(reading)) raise(figure, bytes);
  }
  for (const { id, belongsTo, figures } of layers) {
    // A machine without workers shows nothing about them.
    if (belongsTo === 'machine' && !sharedHost) continue;
    for (const { id: figure, sampleKey } of figures) {
      if (sampleKey === undefined) continue;
      for (const { [id]: sample } of samples) raise(figure, sampled(sample, sampleKey));
    }
  }
  return peak;
}

/** @returns what the sample has of the figure; PSS that was not read, as derived from RSS */
export function sampled(sample: LayerSample | undefined, sampleKey: string): number | undefined {
  return sample?.[sampleKey] ?? (sampleKey === 'pssBytes' ? sample?.derivedPssBytes : undefined);
}
