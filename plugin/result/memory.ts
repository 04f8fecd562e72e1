/** What the connections cost in memory. */
import type { Result, Slope } from '../../protocol/result.ts';
import { fitLine } from '../../report/statistics.ts';
import type { LayerBytes, Measurements } from '../run/measurements.ts';
import { describeLayers, type Sampler } from '../samplers/index.ts';
import { memorySum } from './memory-sum.ts';

type Sampled = Pick<Sampler, 'layers' | 'samples'>;

export function memoryFigures(measurements: Measurements, sampled: Sampled): Result['memory'] {
  const { plateaus, afterBroadcasts, afterDisconnect, absentLayers } = measurements;
  const baseline = plateaus[0]?.layers ?? {};
  const peakBytes = peaks(measurements, sampled);
  const known = Object.keys(baseline).filter((layer) => plateaus.every((plateau) => layer in plateau.layers));
  const perConnectionBytes: Record<string, Slope> = {};
  for (const layer of known) {
    const points = plateaus.map(({ connections, layers: bytes }) => ({ x: connections, y: bytes[layer] as number }));
    const naive =
      measurements.peakConnections > 0
        ? ((peakBytes[layer] ?? 0) - (baseline[layer] ?? 0)) / measurements.peakConnections
        : 0;
    const line = fitLine(points);
    if (!line) continue;
    const { slope, low95, high95, r2 } = line;
    perConnectionBytes[layer] = { slope, low95, high95, r2, naive };
  }
  return {
    layers: describeLayers(sampled.layers),
    perConnectionBytes,
    sum: memorySum(perConnectionBytes, sampled.layers),
    peakBytes,
    residualBytes: afterDisconnect ? difference(afterDisconnect, baseline) : {},
    afterBroadcastsBytes: afterBroadcasts ?? {},
    plateaus: plateaus.map(({ connections, layers: bytes }) => ({ connections, ...bytes })),
    absent: absentLayers,
  };
}

/** The highest reading of each figure; the time series knows the peaks between the readings of some. */
function peaks({ plateaus, afterBroadcasts, sharedHost }: Measurements, { layers, samples }: Sampled): LayerBytes {
  const peak: LayerBytes = {};
  const raise = (layer: string, bytes: number | undefined) => {
    if (bytes !== undefined) peak[layer] = Math.max(peak[layer] ?? 0, bytes);
  };
  for (const reading of [...plateaus.map((plateau) => plateau.layers), afterBroadcasts ?? {}]) {
    for (const [layer, bytes] of Object.entries(reading)) raise(layer, bytes);
  }
  for (const { id, belongsTo, figures } of layers) {
    // Of a machine that the workers do not run on it says nothing about them.
    if (belongsTo === 'machine' && !sharedHost) continue;
    for (const { id: figure, sampleKey } of figures) {
      if (sampleKey !== undefined) for (const sample of samples) raise(figure, sample[id]?.[sampleKey]);
    }
  }
  return peak;
}

function difference(after: LayerBytes, before: LayerBytes): LayerBytes {
  return Object.fromEntries(
    Object.entries(after).flatMap(([layer, bytes]) =>
      layer in before ? [[layer, bytes - (before[layer] as number)]] : [],
    ),
  );
}
