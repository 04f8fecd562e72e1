/** How long the broadcasts took. */
import { encodeHistogram, mergeHistograms, summaryMs } from '../../protocol/histogram.ts';
import type { Result } from '../../protocol/result/result.ts';
import type { Measurements } from '../run/measurements.ts';
import { intervalFigures, reachedBroadcasts } from './intervals.ts';
import { sentinelFigures } from './sentinel.ts';
import { histogramOf, merged, summaryOfEach } from './sums.ts';

export function latencyFigures(measurements: Measurements): Result['latency'] {
  const { frozen, sent, roundTripsUs, clocks, workersAtStart, ownEvent } = measurements;
  // Nobody knows which worker holds a connection, and the server does not say when it meant to send.
  const known = { workers: ownEvent === undefined, schedule: ownEvent?.publisher !== 'server' };
  const local = merged(frozen.map(({ latencyUs }) => latencyUs.local));
  const cross = merged(frozen.map(({ latencyUs }) => latencyUs.cross));
  const oneWay = mergeHistograms([local, cross]);
  const broadcasts = reachedBroadcasts(frozen);
  const halves = (trips: number[]) => histogramOf(trips.map((us) => us / 2));
  const underLoad = halves(roundTripsUs.underLoad);
  const single = halves(roundTripsUs.single);
  return {
    from: ownEvent?.latencyFrom ?? 'server',
    oneWayMs: summaryMs(oneWay, broadcasts.length),
    localMs: known.workers ? summaryMs(local, broadcasts.length) : null,
    crossWorkerMs: known.workers ? summaryMs(cross, broadcasts.length) : null,
    completionMs: summaryOfEach(broadcasts.map(({ lastUs }) => lastUs)),
    ...intervalFigures(broadcasts),
    sendDelayMs: known.schedule
      ? summaryOfEach(sent.map(({ sentAtUs, intendedAtUs }) => sentAtUs - intendedAtUs))
      : null,
    ...sentinelFigures(measurements),
    roundTripHalfMs: {
      underLoad: summaryMs(underLoad, underLoad.totalCount),
      single: summaryMs(single, single.totalCount),
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
