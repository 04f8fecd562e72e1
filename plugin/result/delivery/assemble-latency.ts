/** Builds the latencies of the broadcasts, and the accuracy of the workers' clocks. */
import {
  createHistogram,
  encodeHistogram,
  mergeHistograms,
  summarizeHistogramMs,
} from '../../../protocol/base/histogram.ts';
import type { Result } from '../../../protocol/result/result.ts';
import type { Measurements } from '../../run/measurements/measurements.ts';
import { whyLatencyNotSplit } from '../absent.ts';
import { histogramOf, mergeToHistogram, summarizeUs } from '../sums.ts';
import { latencyIntervalFigures, reachedBroadcasts } from './intervals.ts';

export function latencyFigures(measurements: Measurements): Result['latency'] {
  const { frozen, sent, impossibleRoundTrips, ownEvent } = measurements;
  const from = ownEvent?.latencyFrom ?? 'server';
  const clocks = clockRows(measurements);
  // For the server's own event, it may be unknown which worker holds a connection and when a broadcast should have been
  // sent.
  const isPlaced = whyLatencyNotSplit(measurements) === undefined;
  const known = { workers: ownEvent === undefined && isPlaced, schedule: ownEvent?.publisher !== 'server' };
  const confirmed = sent.filter(({ unconfirmed }) => !unconfirmed);
  const local = mergeToHistogram(frozen.map(({ latencyUs }) => latencyUs.local));
  const cross = mergeToHistogram(frozen.map(({ latencyUs }) => latencyUs.cross));
  const oneWay = mergeHistograms([local, cross]);
  const broadcasts = reachedBroadcasts(frozen);
  // In a long run, a ledger row contains several broadcasts.
  const each = ownEvent?.each;
  const reached = each ? each.completionUs.totalCount : broadcasts.length;
  // If one round trip is impossible, none of the round trips is trusted.
  const roundTripsUs = impossibleRoundTrips.length > 0 ? { underLoad: [], single: [] } : measurements.roundTripsUs;
  const halves = (trips: number[]) => histogramOf(trips.map((us) => us / 2));
  const underLoad = halves(roundTripsUs.underLoad);
  const single = halves(roundTripsUs.single);
  return {
    from,
    oneWayMs: summarizeHistogramMs(oneWay, reached),
    localMs: known.workers ? summarizeHistogramMs(local, reached) : null,
    crossWorkerMs: known.workers ? summarizeHistogramMs(cross, reached) : null,
    completionMs: each
      ? summarizeHistogramMs(each.completionUs, reached)
      : summarizeUs(broadcasts.map(({ lastUs }) => lastUs)),
    ...latencyIntervalFigures(broadcasts, latencyErrorUs({ from, clocks }, measurements)),
    sendDelayMs: known.schedule
      ? each
        ? summarizeHistogramMs(each.sendDelayUs, each.sendDelayUs.totalCount)
        : summarizeUs(confirmed.map(({ sentAtUs, intendedAtUs }) => sentAtUs - intendedAtUs))
      : null,
    ...sentinelFigures(measurements),
    roundTripHalfMs: {
      underLoad: summarizeHistogramMs(underLoad, underLoad.totalCount),
      single: summarizeHistogramMs(single, single.totalCount),
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

/**
 * Returns the latencies of the reference receiver, and how much later other receivers on the same worker received the
 * copies.
 */
function sentinelFigures({ sentinel, sent, frozen }: Measurements) {
  const pages = Map.groupBy(frozen, ({ seq }) => seq);
  const seen = sent.flatMap(({ seq, worker, intendedAtUs }): { latencyUs: number; behindUs?: number }[] => {
    const receivedAtUs = sentinel?.receivedAtUs.get(seq);
    if (!sentinel || receivedAtUs === undefined) return [];
    // The reference receiver's latency also counts from the intended send time.
    const latencyUs = Math.max(0, receivedAtUs - intendedAtUs);
    const rows = pages.get(seq) ?? [];
    const local = mergeToHistogram(rows.map((row) => row.latencyUs.local));
    // Compares only broadcasts that the reference receiver's worker published, because ledger rows show the receivers
    // on the publishing worker separately.
    const isPublisher = sentinel.worker !== '' && worker === sentinel.worker;
    if (!isPublisher || rows.some(({ unplaced }) => unplaced) || local.totalCount === 0) return [{ latencyUs }];
    return [{ latencyUs, behindUs: Math.max(0, local.getValueAtPercentile(99) - latencyUs) }];
  });
  return {
    sentinelMs: summarizeUs(seen.map(({ latencyUs }) => latencyUs)),
    behindSentinelMs: summarizeUs(seen.flatMap(({ behindUs }) => behindUs ?? [])),
  };
}

/** Accuracy of the clocks from which one-way latencies are computed: the sending worker's and the receiving host's. */
type Clocks = Result['latency']['clocks'];
type Sides = Pick<Result['latency'], 'from' | 'clocks'>;

/**
 * Returns a row for each worker's clock, for the time of the broadcasts. Without broadcasts, the rows are for the whole
 * run. Empty before the first clock reading.
 */
function clockRows({ clocks, sent, workersAtStart }: Measurements): Clocks {
  if (clocks.some(({ boundUs }) => boundUs === Number.POSITIVE_INFINITY)) return [];
  const timesUs = sent.map(({ sentAtUs }) => sentAtUs).sort((a, b) => a - b);
  const [firstUs = Number.POSITIVE_INFINITY, lastUs = Number.POSITIVE_INFINITY] = [timesUs[0], timesUs.at(-1)];
  return clocks.map((line, index) => ({
    worker: workersAtStart[index]?.worker ?? String(index),
    offsetUs: Math.round(line.offsetAt(firstUs)),
    uncertaintyUs: Math.ceil(
      timesUs.length > 0 ? timesUs.reduce((most, atUs) => Math.max(most, line.boundAt(atUs)), 0) : line.boundUs,
    ),
    driftUs: Math.round(line.offsetAt(lastUs) - line.offsetAt(firstUs)),
    jumpUs: Math.round(line.jumpUs()),
  }));
}

/** Returns the worker whose clock is the least accurate; undefined if latencies do not use the workers' clocks. */
export function leastAccurateClock({ from, clocks }: Sides): Clocks[number] | undefined {
  if (from !== 'server') return undefined;
  return clocks.toSorted((a, b) => b.uncertaintyUs - a.uncertaintyUs)[0];
}

/** Returns the possible error of a one-way latency; 0 if one clock measured both times. */
function latencyErrorUs(latency: Sides, { hosts = [] }: Measurements): number {
  const ofHostsUs = Math.max(0, ...hosts.map(({ clock }) => clock?.boundUs ?? 0));
  return (leastAccurateClock(latency)?.uncertaintyUs ?? 0) + ofHostsUs;
}
