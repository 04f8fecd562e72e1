/** Sums over fleet processes, engines and hosts: counts are added, histograms are merged, nothing is averaged. */

import { mergeEncoded } from '../base/histogram.ts';
import { ownValue } from '../base/sum-counts.ts';
import type { ConnectingOverTime, TimeSeries } from './time-series.ts';

type Value = number | string | Values;
interface Values {
  [key: string]: Value;
}

/** Key whose values are combined by their maximum. */
const MAXIMUM_KEY = 'loopLateMs';

/**
 * Adds numbers, merges histograms and time series, and does so key by key in objects.
 * @param zero determines the keys; by default, all keys that occur
 */
export function addUp<T extends object>(all: Iterable<T>, zero = {} as T): T {
  return sumOf([...all] as object[] as Values[], zero as object as Values) as object as T;
}

function sumOf(all: Values[], zero: Values): Values {
  const keys = new Set(Object.keys(zero).length > 0 ? Object.keys(zero) : all.flatMap(Object.keys));
  return Object.fromEntries(
    Array.from(keys, (key) => {
      const values = all.flatMap((values) => ownValue(values, key) ?? []);
      return [key, combined(key, ownValue(zero, key), values)];
    }),
  );
}

function combined(key: string, zero: Value | undefined, values: Value[]): Value {
  const kind = zero ?? values[0];
  if (typeof kind === 'number') {
    return (values as number[]).reduce((sum, value) => (key === MAXIMUM_KEY ? Math.max(sum, value) : sum + value), 0);
  }
  if (typeof kind === 'string') return mergeEncoded(values as string[]);
  if (Array.isArray(kind?.counts)) return addSeries(values as object[] as TimeSeries[]) as object as Values;
  return sumOf(values as Values[], (zero as Values | undefined) ?? {});
}

/** Adds the series on a common grid with the longest of their intervals, because each series widens its intervals independently. */
export function addConnecting(all: ConnectingOverTime[]): ConnectingOverTime {
  const { startedAtUs, intervalUs } = addSeries(all.flatMap((series) => Object.values(series)));
  const grid = { startedAtUs, intervalUs, counts: [] };
  const combined = (key: keyof ConnectingOverTime, combine?: (a: number, b: number) => number) =>
    addSeries([grid, ...all.map((series) => series[key])], combine);
  return {
    opened: combined('opened'),
    connectUs: combined('connectUs'),
    slowestUs: combined('slowestUs', Math.max),
    failed: combined('failed'),
    ended: combined('ended'),
  };
}

/** Limits memory if a start time is wrong by years. */
const MAX_INTERVALS = 1_000_000;

/** Adds series with different start times, on the grid of the earliest and with the longest of their intervals. */
export function addSeries(all: TimeSeries[], combine = (a: number, b: number) => a + b): TimeSeries {
  const startedAtUs = Math.min(...all.map((series) => series.startedAtUs));
  const endedAtUs = Math.max(...all.map((series) => series.startedAtUs + series.counts.length * series.intervalUs));
  const coarsestUs = Math.ceil((endedAtUs - startedAtUs) / MAX_INTERVALS);
  const intervalUs = Math.max(10_000, coarsestUs, ...all.map((series) => series.intervalUs));
  const counts: number[] = [];
  for (const series of all) {
    const shiftUs = series.startedAtUs - startedAtUs;
    series.counts.forEach((value, index) => {
      // Rounds to the nearest interval, because series with equal intervals can start anywhere within one.
      const at = Math.round((shiftUs + index * series.intervalUs) / series.intervalUs) * series.intervalUs;
      const interval = Math.floor(at / intervalUs);
      while (counts.length <= interval) counts.push(0);
      counts[interval] = combine(counts[interval] ?? 0, value);
    });
  }
  return { startedAtUs: all.length > 0 ? startedAtUs : 0, intervalUs, counts };
}
