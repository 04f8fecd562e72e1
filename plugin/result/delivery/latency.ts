/** How long the broadcasts took. */
import { createHistogram, encodeHistogram, mergeHistograms, summaryMs } from '../../../protocol/histogram.ts';
import type { Result } from '../../../protocol/result/result.ts';
import type { Measurements } from '../../run/measurements/measurements.ts';
import { clockRows, latencyErrorUs } from '../clocks.ts';
import { whyNotPlaced } from '../connections/placement.ts';
import { histogramOf, merged, summaryOfEach } from '../sums.ts';
import { intervalFigures, reachedBroadcasts } from './intervals.ts';
import { sentinelFigures } from './sentinel.ts';

export function latencyFigures(measurements: Measurements): Result['latency'] {
  const { frozen, sent, impossibleRoundTrips, ownEvent } = measurements;
  const from = ownEvent?.latencyFrom ?? 'server';
  const clocks = clockRows(measurements);
  // Nobody knows which worker holds a connection, and the server does not say when it meant to send.
  const isPlaced = whyNotPlaced(measurements) === undefined;
  const known = { workers: ownEvent === undefined && isPlaced, schedule: ownEvent?.publisher !== 'server' };
  const local = merged(frozen.map(({ latencyUs }) => latencyUs.local));
  const cross = merged(frozen.map(({ latencyUs }) => latencyUs.cross));
  const oneWay = mergeHistograms([local, cross]);
  const broadcasts = reachedBroadcasts(frozen);
  // In a long run, the rows stand for several broadcasts.
  const each = ownEvent?.each;
  const reached = each ? each.completionUs.totalCount : broadcasts.length;
  // Who invents one may have invented all.
  const roundTripsUs = impossibleRoundTrips.length > 0 ? { underLoad: [], single: [] } : measurements.roundTripsUs;
  const halves = (trips: number[]) => histogramOf(trips.map((us) => us / 2));
  const underLoad = halves(roundTripsUs.underLoad);
  const single = halves(roundTripsUs.single);
  return {
    from,
    oneWayMs: summaryMs(oneWay, reached),
    localMs: known.workers ? summaryMs(local, reached) : null,
    crossWorkerMs: known.workers ? summaryMs(cross, reached) : null,
    completionMs: each ? summaryMs(each.completionUs, reached) : summaryOfEach(broadcasts.map(({ lastUs }) => lastUs)),
    ...intervalFigures(broadcasts, latencyErrorUs({ from, clocks }, measurements)),
    sendDelayMs: known.schedule
      ? each
        ? summaryMs(each.sendDelayUs, each.sendDelayUs.totalCount)
        : summaryOfEach(sent.map(({ sentAtUs, intendedAtUs }) => sentAtUs - intendedAtUs))
      : null,
    ...sentinelFigures(measurements),
    roundTripHalfMs: {
      underLoad: summaryMs(underLoad, underLoad.totalCount),
      single: summaryMs(single, single.totalCount),
    },
    clocks,
    histograms: {
      oneWayLocal: encodeHistogram(isPlaced ? local : oneWay),
      oneWayCrossWorker: encodeHistogram(isPlaced ? cross : createHistogram()),
      roundTripHalfUnderLoad: encodeHistogram(underLoad),
      roundTripHalfSingle: encodeHistogram(single),
    },
  };
}
