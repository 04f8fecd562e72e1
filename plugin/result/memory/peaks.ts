/** The highest reading of each figure; for some, the time series has the peaks between the readings. */
import type { Measurements } from '../../run/measurements/measurements.ts';
import type { LayerBytes } from '../../run/measurements/memory.ts';
import type { LayerSample, SampleRow, Sampler } from '../../samplers/index.ts';

/** @returns `derived`: figures whose peak was derived from RSS */
export function peaksOf(
  { sharedHost }: Pick<Measurements, 'sharedHost'>,
  { layers }: Pick<Sampler, 'layers'>,
  readings: LayerBytes[],
  samples: SampleRow[],
): { bytes: LayerBytes; derived: string[] } {
  const peak: LayerBytes = {};
  const derived = new Set<string>();
  const raise = (figure: string, bytes: number | undefined, isDerived: boolean) => {
    if (bytes === undefined || bytes <= (peak[figure] ?? Number.NEGATIVE_INFINITY)) return;
    peak[figure] = bytes;
    if (isDerived) derived.add(figure);
    else derived.delete(figure);
  };
  for (const reading of readings) {
    for (const [figure, bytes] of Object.entries(reading)) raise(figure, bytes, false);
  }
  for (const { id, belongsTo, figures } of layers) {
    // A machine without workers shows nothing about them.
    if (belongsTo === 'machine' && !sharedHost) continue;
    for (const { id: figure, sampleKey } of figures) {
      if (sampleKey === undefined) continue;
      for (const { [id]: sample } of samples) raise(figure, sampled(sample, sampleKey), isDerived(sample, sampleKey));
    }
  }
  return { bytes: peak, derived: [...derived] };
}

/** @returns what the sample has of the figure; PSS that was not read, as derived */
export function sampled(sample: LayerSample | undefined, sampleKey: string): number | undefined {
  return isDerived(sample, sampleKey) ? sample?.derivedPssBytes : sample?.[sampleKey];
}

function isDerived(sample: LayerSample | undefined, sampleKey: string): boolean {
  return sampleKey === 'pssBytes' && sample?.pssBytes === undefined && sample?.derivedPssBytes !== undefined;
}
