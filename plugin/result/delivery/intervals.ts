/** Computes confidence intervals of the latencies: how much the latencies of further broadcasts can differ. */
import { recordedValuesUs } from '../../../protocol/base/histogram.ts';
import type { FrozenBroadcast } from '../../../protocol/link/ledger-messages.ts';
import type { Result } from '../../../protocol/result/result.ts';
import type { Interval } from '../../../protocol/result/shared-schemas.ts';
import { clusterIntervals, type ValueCluster } from '../../../report/statistics/quantile-intervals.ts';
import { median } from '../../../report/statistics/statistics.ts';
import { mergeToHistogram } from '../sums.ts';

type Figures = Pick<Result['latency'], 'intervals' | 'slowFirst'>;

/** A broadcast with at least one receiver, with its ledger rows of all fleet processes. */
interface Reached {
  seq: number;
  rows: FrozenBroadcast[];
  lastUs: number;
}

/**
 * Minimum number of other broadcasts with which the first broadcast is compared. With fewer, no duration counts as
 * typical.
 */
const MIN_OTHERS = 5;

/** Returns the broadcasts with at least one received copy and a known send time, in the order of their sends. */
export function reachedBroadcasts(frozen: FrozenBroadcast[]): Reached[] {
  const rows = frozen.filter(({ received, untimed }) => received > 0 && !untimed);
  return [...Map.groupBy(rows, ({ seq }) => seq)]
    .map(([seq, rows]) => ({ seq, rows, lastUs: Math.max(...rows.map(({ lastUs }) => lastUs)) }))
    .sort((a, b) => a.seq - b.seq);
}

/** @param clockErrorUs possible error that all latencies have in common, in addition to their spread */
export function latencyIntervalFigures(broadcasts: Reached[], clockErrorUs = 0): Figures {
  if (broadcasts.length === 0) return { intervals: null, slowFirst: null };
  const copies = broadcasts.map(({ rows }) => copiesOf(rows));
  const last = broadcasts.map(({ lastUs }) => [{ value: lastUs, count: 1 }]);
  return {
    intervals: { oneWayMs: intervalsOf(copies, clockErrorUs), completionMs: intervalsOf(last, clockErrorUs) },
    slowFirst: slowFirst(broadcasts),
  };
}

function copiesOf(rows: FrozenBroadcast[]): ValueCluster {
  const copies = mergeToHistogram(rows.flatMap(({ latencyUs }) => [latencyUs.local, latencyUs.cross]));
  return recordedValuesUs(copies).map(({ valueUs, count }) => ({ value: valueUs, count }));
}

function intervalsOf(clusters: ValueCluster[], errorUs: number): NonNullable<Figures['intervals']>['oneWayMs'] {
  const [p50 = null, p99 = null] = clusterIntervals(clusters, [0.5, 0.99]).map(
    (interval): Interval =>
      interval && { low95: Math.max(0, interval.low - errorUs) / 1000, high95: (interval.high + errorUs) / 1000 },
  );
  return { p50, p99 };
}

/**
 * Detects a slow first broadcast by Tukey's outer fence: it took longer than the third quartile of the other broadcasts
 * plus three times their interquartile range.
 */
function slowFirst([first, ...others]: Reached[]): Figures['slowFirst'] {
  if (!first || others.length < MIN_OTHERS) return null;
  const sorted = others.map(({ lastUs }) => lastUs).sort((a, b) => a - b);
  const half = sorted.length >> 1;
  const [low, middle, high] = [sorted.slice(0, half), sorted, sorted.slice(-half)].map(median) as [
    number,
    number,
    number,
  ];
  if (first.lastUs <= high + 3 * (high - low)) return null;
  const othersMaxMs = (sorted.at(-1) as number) / 1000;
  return { seq: first.seq, lastMs: first.lastUs / 1000, othersP50Ms: middle / 1000, othersMaxMs };
}
