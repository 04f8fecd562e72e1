/** What the sentinel saw, and how far the other receivers of its worker lagged behind it. */
import type { Result } from '../../../protocol/result/result.ts';
import type { Measurements } from '../../run/measurements/measurements.ts';
import { merged, summaryOfEach } from '../sums.ts';

export function sentinelFigures(
  measurements: Measurements,
): Pick<Result['latency'], 'sentinelMs' | 'behindSentinelMs'> {
  const seen = sightings(measurements);
  return {
    sentinelMs: summaryOfEach(seen.map(({ latencyUs }) => latencyUs)),
    behindSentinelMs: summaryOfEach(
      seen.flatMap(({ latencyUs, othersP99Us }) =>
        othersP99Us === null ? [] : [Math.max(0, othersP99Us - latencyUs)],
      ),
    ),
  };
}

interface Sighting {
  /** From the intended send time, as for all receivers. */
  latencyUs: number;
  /** The other receivers on the sentinel's worker; null where another worker published, since the rows do not show it then. */
  othersP99Us: number | null;
}

function sightings({ sentinel, sent, frozen }: Measurements): Sighting[] {
  if (!sentinel) return [];
  const pages = Map.groupBy(frozen, ({ seq }) => seq);
  return sent.flatMap(({ seq, worker, intendedAtUs }) => {
    const receivedAtUs = sentinel.receivedAtUs.get(seq);
    if (receivedAtUs === undefined) return [];
    const rows = pages.get(seq) ?? [];
    const local = merged(rows.map(({ latencyUs }) => latencyUs.local));
    const isKnown = sentinel.worker !== '' && !rows.some(({ unplaced }) => unplaced);
    const comparable = isKnown && worker === sentinel.worker && local.totalCount > 0;
    return [
      {
        latencyUs: Math.max(0, receivedAtUs - intendedAtUs),
        othersP99Us: comparable ? local.getValueAtPercentile(99) : null,
      },
    ];
  });
}
