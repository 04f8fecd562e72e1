/** How long the broadcasts took. */
import { encodeHistogram, mergeHistograms, summaryMs } from '../../protocol/histogram.ts';
import type { Result } from '../../protocol/result.ts';
import type { Measurements } from '../run/measurements.ts';
import { sentinelFigures } from './sentinel.ts';
import { histogramOf, merged } from './sums.ts';

export function latencyFigures(measurements: Measurements): Result['latency'] {
  const { frozen, sent, roundTripsUs, clocks, workersAtStart } = measurements;
  const local = merged(frozen.map(({ latencyUs }) => latencyUs.local));
  const cross = merged(frozen.map(({ latencyUs }) => latencyUs.cross));
  const oneWay = mergeHistograms([local, cross]);
  const completions = [...Map.groupBy(frozen, ({ seq }) => seq).values()].flatMap((rows) => {
    const reached = rows.filter(({ received }) => received > 0);
    return reached.length > 0 ? [Math.max(...reached.map(({ lastUs }) => lastUs))] : [];
  });
  const halves = (trips: number[]) => histogramOf(trips.map((us) => us / 2));
  const underLoad = halves(roundTripsUs.underLoad);
  const single = halves(roundTripsUs.single);
  return {
    oneWayMs: summaryMs(oneWay),
    localMs: summaryMs(local),
    crossWorkerMs: summaryMs(cross),
    completionMs: summaryMs(histogramOf(completions)),
    sendDelayMs: summaryMs(histogramOf(sent.map(({ sentAtUs, intendedAtUs }) => sentAtUs - intendedAtUs))),
    ...sentinelFigures(measurements),
    roundTripHalfMs: {
      underLoad: summaryMs(underLoad),
      single: summaryMs(single),
      eachMs: { underLoad: halvesMs(roundTripsUs.underLoad), single: halvesMs(roundTripsUs.single) },
    },
    clocks: clocks.map(({ begin, end = begin }, index) => ({
      worker: workersAtStart[index]?.worker ?? String(index),
      offsetUs: Math.round(begin.offsetUs),
      uncertaintyUs: Math.ceil(Math.max(begin.uncertaintyUs, end.uncertaintyUs)),
      driftUs: Math.round(end.offsetUs - begin.offsetUs),
    })),
    histograms: {
      oneWayLocal: encodeHistogram(local),
      oneWayCrossWorker: encodeHistogram(cross),
      roundTripHalfUnderLoad: encodeHistogram(underLoad),
      roundTripHalfSingle: encodeHistogram(single),
    },
  };
}

/** Half of each, to the microsecond. */
function halvesMs(tripsUs: number[]): number[] {
  return tripsUs.map((us) => Math.round(us / 2) / 1000);
}
