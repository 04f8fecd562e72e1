/** What connections leave behind that have come and gone: the line through the readings, layer by layer. */
import type { OverTimeResult } from '../../../protocol/result/over-time.ts';
import type { Measurements } from '../../run/measurements/measurements.ts';
import type { MomentReading } from '../../run/measurements/memory.ts';
import { driftOf } from './drift.ts';

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
        const drift = driftOf(
          used.map(({ t, gone, layers: read }) => ({ t, gone, bytes: read[layer] as number })),
          kind,
        );
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

function asMoment({ layers, ...moment }: MomentReading): OverTimeResult['readings'][number] {
  return { ...moment, bytes: layers };
}
