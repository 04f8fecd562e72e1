/** Builds the figures of the connections: number of connections, connect rate, and connect times. */

import { decodeHistogram, summarizeHistogramMs } from '../../protocol/base/histogram.ts';
import { addSnapshots, type FleetTotals } from '../../protocol/link/add-up.ts';
import type { FleetSnapshot } from '../../protocol/link/snapshot.ts';
import type { Result } from '../../protocol/result/result.ts';
import { CLIENT_DISCONNECT_REASON, CONNECT_STAGES } from '../../protocol/wire/connection.ts';
import { closeRows } from '../run/measurements/close-rows.ts';
import type { Ramp } from '../run/measurements/measured-windows.ts';
import type { Measurements } from '../run/measurements/measurements.ts';
import { connectionsPerWorker } from '../run/measurements/per-worker.ts';
import { ENGINE_NAME } from '../script/script.ts';
import { sum } from './sums.ts';

export function connectionFigures(measurements: Measurements): Result['connections'] {
  const { snapshots, engine, expectedAtOnce, transports, compression, serverCompresses } = measurements;
  const all = addSnapshots(snapshots);
  const { accounts, ended, failures, tlsResumed: resumed } = all;
  const stages = Object.fromEntries(
    CONNECT_STAGES.flatMap((stage) => {
      const summary = summarizeHistogramMs(decodeHistogram(all.connectUs[stage]));
      return summary ? [[stage, summary]] : [];
    }),
  );
  const { total = null, ...stagesMs } = stages;
  const rate = achievedRate(snapshots, measurements.ramps, all.otherUsers.started > 0);
  const handshakes = stages.tls?.count ?? 0;
  const isTold = engine === ENGINE_NAME && snapshots.length > 0;
  return {
    target: measurements.targetConnections,
    peak: Math.max(measurements.peakConnections, accounts.peak),
    failed: sum(Object.values(failures)),
    failures,
    failureExamples: Object.fromEntries(
      snapshots.toReversed().flatMap((snapshot) => Object.entries(snapshot.failureExamples)),
    ),
    asked: accounts.asked,
    notOpened: accounts.pending > 0 ? { ...accounts.failed, pending: accounts.pending } : accounts.failed,
    opened: accounts.alive + sum(Object.values(accounts.ended)),
    closed: isTold ? (accounts.ended[CLIENT_DISCONNECT_REASON] ?? 0) : null,
    held: isTold && expectedAtOnce !== null ? accounts.alive : null,
    meanStaySeconds: isTold && ended.connections > 0 ? ended.openMs / 1000 / ended.connections : null,
    lost: lostByReason(accounts.ended),
    skipped: measurements.skippedUsers,
    unknownAcks: isTold ? all.unknownAcks : null,
    acks: isTold ? all.acks : null,
    ackErrors: all.ackErrors,
    retries: isTold ? all.retries : null,
    reconnection: reconnectionFigures(all),
    ends: closeRows(all.ends),
    disconnects: all.disconnects,
    configuredRatePerSec: measurements.configuredRatePerSec,
    achievedRatePerSec: rate?.perSec ?? null,
    rampSeconds: rate?.seconds ?? null,
    connectMs: total,
    overTime: isTold ? connectingOverTime(all, measurements) : null,
    stagesMs,
    tlsHandshakes: handshakes > 0 ? { full: handshakes - resumed, resumed } : null,
    transports: isTold ? { configured: transports, ...all.transports, upgradeFailures: all.upgradeFailures } : null,
    compression: isTold ? { asked: compression, granted: all.compressed, byServer: serverCompresses } : null,
    perWorker: connectionsPerWorker(measurements, all),
  };
}

/** Returns the figures of HTTP requests, of users on other engines, and of the scenario's functions. */
export function otherLoadFigures({ snapshots }: Measurements): Pick<Result, 'http' | 'otherUsers' | 'functions'> {
  const { http, otherUsers, functions, eventsDropped } = addSnapshots(snapshots);
  const dropped = functions.dropped + eventsDropped;
  const hasCalls = functions.received + Object.keys(functions.counters).length > 0;
  return {
    functions: hasCalls ? { ...functions, dropped } : null,
    http: http.requests > 0 ? http : null,
    otherUsers: otherUsers.started > 0 ? otherUsers : null,
  };
}

function reconnectionFigures({ returns }: FleetTotals): Result['connections']['reconnection'] {
  const { awayUs, retries: _, ...counts } = returns;
  return counts.dropped === 0 ? null : { ...counts, awayMs: summarizeHistogramMs(decodeHistogram(awayUs)) };
}

/**
 * Returns the lost connections.
 * @param ended number of closed connections by reason
 * @returns the same, without connections that a virtual user or the run itself closed
 */
export function lostByReason(ended: Record<string, number>): Record<string, number> {
  const { [CLIENT_DISCONNECT_REASON]: _, ...lost } = ended;
  return lost;
}

/**
 * Returns the connects over time, from the start of the samples to the last interval in which a connection opened,
 * failed or closed.
 */
function connectingOverTime(
  { connecting }: FleetTotals,
  { samplesBeganAtUs }: Measurements,
): Result['connections']['overTime'] {
  if (samplesBeganAtUs === undefined) return null;
  const { opened, connectUs, slowestUs, failed, ended } = connecting;
  const { startedAtUs, intervalUs } = opened;
  const length = Math.max(...[opened, failed, ended].map(({ counts }) => counts.length));
  const first = Math.max(0, Math.floor((samplesBeganAtUs - startedAtUs) / intervalUs));
  const intervals = Array.from({ length: Math.max(0, length - first) }, (_, index) => first + index);
  const ms = (us: number, count: number) => (count === 0 ? null : Math.round(us / count) / 1000);
  const of = (counts: number[]) => intervals.map((index) => counts[index] ?? 0);
  const openedThen = of(opened.counts);
  return {
    intervalSeconds: intervalUs / 1e6,
    t: intervals.map((index) => Math.round((startedAtUs + index * intervalUs - samplesBeganAtUs) / 1e4) / 100),
    opened: openedThen,
    meanMs: of(connectUs.counts).map((us, index) => ms(us, openedThen[index] ?? 0)),
    slowestMs: of(slowestUs.counts).map((us, index) => ms(us, Math.min(1, openedThen[index] ?? 0))),
    failed: of(failed.counts),
    ended: of(ended.counts),
  };
}

/**
 * Returns the connect rate of the ramps. A ramp lasts from its first to its last connection, but at least as long as
 * its phases. Reconnects do not count. Therefore, the rate cannot exceed the configured rate, and a delay at the end of
 * a ramp lowers it.
 * @param isRandom whether Artillery chose at random which arrivals are connections, so that the first and the last
 * connection may open at any time
 * @returns null if no connection opened
 */
export function achievedRate(
  snapshots: Pick<FleetSnapshot, 'openings'>[],
  ramps: Ramp[],
  isRandom = false,
): { perSec: number; seconds: number } | null {
  // All connections of an interval count from the start of the interval.
  const opened = snapshots
    .flatMap(({ openings: { startedAtUs, intervalUs, counts } }) =>
      counts.map((count, index) => ({ atUs: startedAtUs + index * intervalUs, count })),
    )
    .filter(({ count }) => count > 0)
    .sort((a, b) => a.atUs - b.atUs);
  let [connections, seconds, overdue] = [0, 0, 0];
  let fromUs = Number.NEGATIVE_INFINITY;
  for (const [index, ramp] of ramps.entries()) {
    const { beganAtUs: nextUs = Number.POSITIVE_INFINITY } = ramps[index + 1] ?? {};
    const untilUs = Math.min(ramp.endedAtUs, nextUs);
    const own = opened.filter(({ atUs }) => atUs > fromUs && atUs <= untilUs);
    const due = overdue + ramp.connections;
    const made = Math.min(due, sum(own.map(({ count }) => count)));
    connections += made;
    const ofRamp = own.filter(({ atUs }) => atUs >= ramp.beganAtUs);
    seconds += Math.max(ramp.seconds, secondsOf(ofRamp, isRandom));
    // If a ramp lasts longer than the pause after it, the connections that it still lacks count for the next ramp.
    overdue = nextUs < ramp.endedAtUs ? due - made : 0;
    fromUs = untilUs;
  }
  return connections > 0 ? { perSec: connections / seconds, seconds } : null;
}

/**
 * Returns the time in which the connections opened. If they opened at equal intervals, this is one interval more than
 * the time from the first to the last connection.
 */
function secondsOf(opened: { atUs: number; count: number }[], isRandom: boolean): number {
  const [first, last, all] = [opened[0], opened.at(-1), sum(opened.map(({ count }) => count))];
  if (!first || !last || all < 2) return 0;
  const seconds = (last.atUs - first.atUs) / 1e6;
  return isRandom ? seconds : (seconds * all) / (all - 1);
}
