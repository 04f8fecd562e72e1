/** What connections leave behind that have come and gone: the line through the readings, layer by layer. */
import type { Drift, OverTimeResult } from '../../../protocol/result/over-time.ts';
import { fitPlateaus } from '../../../report/statistics/plateaus.ts';
import type { Measurements } from '../../run/measurements/measurements.ts';
import type { MomentReading } from '../../run/measurements/memory.ts';

/** Readings of an idle deployment differ by as much: a rise below it over the whole run is no leak. */
const NOISE_BYTES = 1024 ** 2;

export function overTimeFigures({
  overTime,
  uncollected,
}: Pick<Measurements, 'overTime' | 'uncollected'>): OverTimeResult | null {
  if (!overTime) return null;
  const { kind, collected, peaks } = overTime;
  const readings = overTime.readings.rows;
  const used = afterWarmUp(peaks, readings);
  const first = used[0]?.layers ?? {};
  const layers = Object.keys(first).filter(
    (layer) => used.every((one) => layer in one.layers) && !uncollected.includes(layer),
  );
  return {
    kind,
    collected,
    peaks: peaks.map(asMoment),
    readings: readings.map(asMoment),
    warmUpReadings: readings.length - used.length,
    drift: Object.fromEntries(
      layers.flatMap((layer) => {
        const drift = driftOf(used, layer, kind);
        return drift ? [[layer, drift]] : [];
      }),
    ),
  };
}

/**
 * Whoever connects first makes a server grow its heap, its tables and its pools to the size that so many connections need. This
 * happens once: it is over when as many have left as were ever open at the same time.
 */
function afterWarmUp(peaks: MomentReading[], readings: MomentReading[]): MomentReading[] {
  let most = 0;
  const begin = readings.findIndex(({ t, connections, gone }) => {
    most = Math.max(most, connections, ...peaks.filter((peak) => peak.t <= t).map((peak) => peak.connections));
    return gone >= most;
  });
  return begin < 0 ? [] : readings.slice(begin);
}

function driftOf(readings: MomentReading[], layer: string, kind: OverTimeResult['kind']): Drift | null {
  const line = fitPlateaus(readings.map(({ gone, layers }) => ({ x: gone, y: layers[layer] as number })));
  const [first, last] = [readings[0], readings.at(-1)];
  if (!line || !first || !last) return null;
  const { slope, low95, high95 } = line;
  const left = last.gone - first.gone;
  const noise = NOISE_BYTES / left;
  return {
    bytesPerConnection: slope,
    low95,
    high95,
    bytesPerHour: (slope * left * 3600) / (last.t - first.t),
    bytesPerWave: kind === 'waves' ? (slope * left) / (readings.length - 1) : null,
    leaks: low95 === null ? null : low95 > 0 && slope > noise,
    noLeakAbove: high95 === null ? null : Math.max(high95, noise),
  };
}

function asMoment({ layers, ...moment }: MomentReading): OverTimeResult['readings'][number] {
  return { ...moment, bytes: layers };
}
