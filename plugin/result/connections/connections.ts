/** How the connections were made: how many, how fast, how long each took. */

import { CONNECT_STAGES, OWN_DISCONNECT } from '../../../protocol/connection.ts';
import { summaryMs } from '../../../protocol/histogram.ts';
import type { ReturnCounts } from '../../../protocol/link/snapshot.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { sumCounts } from '../../../protocol/sum-counts.ts';
import type { Measurements } from '../../run/measurements/measurements.ts';
import { connectionsPerWorker } from '../../run/measurements/per-worker.ts';
import { ENGINE } from '../../script/script.ts';
import { merged, sum } from '../sums.ts';
import { connectingOverTime } from './connecting.ts';
import { achievedRate } from './rate.ts';

export function connectionFigures(measurements: Measurements): Result['connections'] {
  const { snapshots } = measurements;
  const stages = Object.fromEntries(
    CONNECT_STAGES.flatMap((stage) => {
      const summary = summaryMs(merged(snapshots.map(({ connectUs }) => connectUs[stage])));
      return summary ? [[stage, summary]] : [];
    }),
  );
  const { total = null, ...stagesMs } = stages;
  const failures = sumCounts(snapshots.map((snapshot) => snapshot.failures));
  const rate = achievedRate(snapshots, measurements.ramps);
  return {
    target: measurements.targetConnections,
    peak: measurements.peakConnections,
    failed: sum(Object.values(failures)),
    failures,
    failureExamples: Object.fromEntries(
      snapshots.toReversed().flatMap((snapshot) => Object.entries(snapshot.failureExamples)),
    ),
    asked: sum(snapshots.map(({ accounts }) => accounts.asked)),
    opened: sum(snapshots.map(({ accounts }) => accounts.alive + sum(Object.values(accounts.ended)))),
    held:
      measurements.engine === ENGINE && measurements.expectedAtOnce !== null && snapshots.length > 0
        ? sum(snapshots.map(({ accounts }) => accounts.alive))
        : null,
    lost: lostOf(sumCounts(snapshots.map(({ accounts }) => accounts.ended))),
    skipped: measurements.skippedUsers,
    unknownAcks: sum(snapshots.map(({ unknownAcks }) => unknownAcks)),
    retries: sum(snapshots.map(({ retries }) => retries)),
    reconnection: reconnectionFigures(snapshots),
    disconnects: sumCounts(snapshots.map(({ disconnects }) => disconnects)),
    configuredRatePerSec: measurements.configuredRatePerSec,
    achievedRatePerSec: rate?.perSec ?? null,
    rampSeconds: rate?.seconds ?? null,
    connectMs: total,
    overTime: connectingOverTime(measurements),
    stagesMs,
    tlsHandshakes: tlsHandshakes(stages.tls?.count ?? 0, sum(snapshots.map(({ tlsResumed }) => tlsResumed))),
    transports: transportFigures(measurements),
    compression: compressionFigures(measurements),
    perWorker: connectionsPerWorker(measurements, snapshots),
  };
}

function reconnectionFigures(snapshots: Measurements['snapshots']): Result['connections']['reconnection'] {
  const returns = snapshots.map((snapshot) => snapshot.returns);
  const counted = (key: Exclude<keyof ReturnCounts, 'awayUs'>) => sum(returns.map((one) => one[key]));
  if (counted('dropped') === 0) return null;
  return {
    dropped: counted('dropped'),
    returned: counted('returned'),
    recovered: counted('recovered'),
    gaveUp: counted('gaveUp'),
    left: counted('left'),
    away: counted('away'),
    awayMs: summaryMs(merged(returns.map(({ awayUs }) => awayUs))),
  };
}

function tlsHandshakes(all: number, resumed: number): Result['connections']['tlsHandshakes'] {
  return all === 0 ? null : { full: all - resumed, resumed };
}

function transportFigures({ engine, transports, snapshots }: Measurements): Result['connections']['transports'] {
  if (engine !== ENGINE || snapshots.length === 0) return null;
  return {
    configured: transports,
    websocket: sum(snapshots.map((snapshot) => snapshot.transports.websocket)),
    upgraded: sum(snapshots.map((snapshot) => snapshot.transports.upgraded)),
    polling: sum(snapshots.map((snapshot) => snapshot.transports.polling)),
    upgradeFailures: sumCounts(snapshots.map(({ upgradeFailures }) => upgradeFailures)),
  };
}

function compressionFigures(measurements: Measurements): Result['connections']['compression'] {
  const { engine, compression, serverCompresses, snapshots } = measurements;
  if (engine !== ENGINE || snapshots.length === 0) return null;
  return {
    asked: compression,
    granted: sum(snapshots.map(({ compressed }) => compressed)),
    byServer: serverCompresses,
  };
}

/** @param ended by reason @returns without those that a virtual user, or the run, closed itself */
export function lostOf(ended: Record<string, number>): Record<string, number> {
  const { [OWN_DISCONNECT]: _, ...lost } = ended;
  return lost;
}
