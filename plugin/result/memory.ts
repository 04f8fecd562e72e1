/** What the connections cost in memory. */
import type { Result, Slope } from '../../protocol/result.ts';
import { fitLine } from '../../report/statistics.ts';
import type { Facts, LayerBytes } from '../run/measurements.ts';
import type { SampleRow } from '../samplers/index.ts';
import { memorySum } from './memory-sum.ts';

export function memoryFigures(facts: Facts, samples: SampleRow[]): Result['memory'] {
  const { plateaus, afterBroadcasts, afterDisconnect, absentLayers } = facts;
  const baseline = plateaus[0]?.layers ?? {};
  const peakBytes = peaks(
    [...plateaus.map(({ layers }) => layers), ...(afterBroadcasts ? [afterBroadcasts] : [])],
    samples,
  );
  const layers = Object.keys(baseline).filter((layer) => plateaus.every((plateau) => layer in plateau.layers));
  const perConnectionBytes: Record<string, Slope> = {};
  for (const layer of layers) {
    const points = plateaus.map(({ connections, layers: bytes }) => ({ x: connections, y: bytes[layer] as number }));
    const naive =
      facts.peakConnections > 0 ? ((peakBytes[layer] ?? 0) - (baseline[layer] ?? 0)) / facts.peakConnections : 0;
    const line = fitLine(points);
    if (!line) continue;
    const { slope, low95, high95, r2 } = line;
    perConnectionBytes[layer] = { slope, low95, high95, r2, naive };
  }
  return {
    perConnectionBytes,
    sum: memorySum(perConnectionBytes),
    peakBytes,
    residualBytes: afterDisconnect ? difference(afterDisconnect, baseline) : {},
    afterBroadcastsBytes: afterBroadcasts ?? {},
    plateaus: plateaus.map(({ connections, layers: bytes }) => ({ connections, ...bytes })),
    absent: absentLayers,
  };
}

/** The highest reading of each layer; the time series knows the peaks between the readings of processes' RSS. */
function peaks(readings: LayerBytes[], samples: SampleRow[]): LayerBytes {
  const peak: LayerBytes = {};
  const raise = (layer: string, bytes: number | undefined) => {
    if (bytes !== undefined) peak[layer] = Math.max(peak[layer] ?? 0, bytes);
  };
  for (const reading of readings) for (const [layer, bytes] of Object.entries(reading)) raise(layer, bytes);
  for (const sample of samples) {
    for (const layer of ['worker', 'pm2', 'nginx', 'redis', 'fleet', 'artillery'] as const) {
      raise(`${layer}Rss`, sample[layer]?.rssBytes);
      raise(`${layer}Pss`, sample[layer]?.pssBytes);
    }
    // Of a machine that the workers do not run on it says nothing about them.
    if ('systemUsed' in peak) raise('systemUsed', sample.system?.usedBytes);
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
