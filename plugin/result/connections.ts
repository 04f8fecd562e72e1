/** How the connections were made: how many, how fast, how long each took. */
import { summaryMs } from '../../protocol/histogram.ts';
import { CONNECT_STAGES } from '../../protocol/link.ts';
import type { Result } from '../../protocol/result.ts';
import { sumCounts } from '../../protocol/sum-counts.ts';
import type { Facts } from '../run/measurements.ts';
import { achievedRate } from './rate.ts';
import { merged, sum } from './sums.ts';

export function connectionFigures(facts: Facts): Result['connections'] {
  const { snapshots } = facts;
  const stages = Object.fromEntries(
    CONNECT_STAGES.flatMap((stage) => {
      const summary = summaryMs(merged(snapshots.map(({ connectUs }) => connectUs[stage])));
      return summary ? [[stage, summary]] : [];
    }),
  );
  const { total = null, ...stagesMs } = stages;
  const failures = sumCounts(snapshots.map((snapshot) => snapshot.failures));
  const rate = achievedRate(snapshots, facts.configuredRatePerSec);
  return {
    target: facts.targetConnections,
    peak: facts.peakConnections,
    failed: sum(Object.values(failures)),
    failures,
    retries: sum(snapshots.map(({ retries }) => retries)),
    disconnects: sumCounts(snapshots.map(({ disconnects }) => disconnects)),
    configuredRatePerSec: facts.configuredRatePerSec,
    achievedRatePerSec: rate?.perSec ?? null,
    rampSeconds: rate?.seconds ?? null,
    connectMs: total,
    stagesMs,
    perWorker: sumCounts(snapshots.map(({ perWorker }) => perWorker)),
  };
}
