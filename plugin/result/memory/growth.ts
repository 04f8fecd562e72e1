/**
 * Memory that grows while the number of connections stays the same. The plateaus come one after the other, so a leak in time
 * would be taken for the cost of connections; and what a connection takes later is not in their line at all.
 */
import { fitLine } from '../../../report/statistics/statistics.ts';
import type { Measurements } from '../../run/measurements/measurements.ts';
import type { LayerSample, Sampler } from '../../samplers/index.ts';

/** As a share of what the connections seem to cost. */
const MAX_SHARE = 0.2;
/** By as much does the memory of a sound process move on its own: growth can be claimed only above it. */
const NOISE_BYTES = 1024 ** 2;

type Measured = Pick<Measurements, 'control' | 'stages' | 'plateaus' | 'afterBroadcasts'>;

/**
 * A figure grows if it rises in the samples of the idle time, and a collection after the broadcasts does not take this back:
 * garbage rises, too. The slower of the two rates counts, from the first plateau to the last.
 * @returns figures; none without idle time or broadcasts, which leave nothing to compare
 */
export function growingFigures(measured: Measured, { layers, samples }: Pick<Sampler, 'layers' | 'samples'>): string[] {
  const { control, stages, plateaus, afterBroadcasts } = measured;
  const at = (name: string) => stages.find((stage) => stage.name === name)?.t;
  const [baseline, hold, broadcasts] = [at('baseline'), at('hold'), at('broadcasts')];
  const end = stages.find(({ name }) => name === 'disconnect' || name === 'end of the run')?.t;
  const [first, last] = [plateaus[0], plateaus.at(-1)];
  const growing: string[] = [];
  if (baseline === undefined || hold === undefined || broadcasts === undefined || end === undefined) return growing;
  // Garbage that nobody collects looks the same.
  if (!control || !first || !last || !afterBroadcasts) return growing;
  const idle = samples.filter(({ t }) => t >= hold && t < broadcasts);
  for (const { id, figures } of layers) {
    for (const { id: figure, sampleKey } of figures) {
      const [before, full, after] = [first.layers[figure], last.layers[figure], afterBroadcasts[figure]];
      if (sampleKey === undefined || before === undefined || full === undefined || after === undefined) continue;
      const line = fitLine(
        idle.flatMap(({ t, [id]: sample }) => {
          const y = sampled(sample, sampleKey);
          return y === undefined ? [] : [{ x: t, y }];
        }),
      );
      if (!line?.low95 || line.low95 <= 0) continue;
      const bytesPerSecond = Math.min(line.slope, (after - full) / (end - hold));
      const share = (bytesPerSecond * (hold - baseline)) / Math.max(1, full - before);
      if (share > MAX_SHARE && after - full > NOISE_BYTES) growing.push(figure);
    }
  }
  return growing;
}

/** @returns what the sample has of the figure; PSS that was not read, as derived from RSS */
export function sampled(sample: LayerSample | undefined, sampleKey: string): number | undefined {
  return sample?.[sampleKey] ?? (sampleKey === 'pssBytes' ? sample?.derivedPssBytes : undefined);
}
