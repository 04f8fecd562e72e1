/** Sums over fleet processes, engines and hosts: counts add up, histograms merge, and nothing is averaged. */

import { mergeEncoded } from '../base/histogram.ts';
import { ownValue } from '../base/sum-counts.ts';
import type { ConnectingOverTime, TimeSeries } from './time-series.ts';

type Value = number | string | Values;
interface Values {
  [key: string]: Value;
}

/** Not added up: the largest counts. */
const LARGEST = 'loopLateMs';

/**
 * Adds numbers, merges histograms and series over time, and all of them in objects, key by key.
 * @param zero has the keys to add; by default, these are whichever there are
 */
export function addUp<T extends object>(all: Iterable<T>, zero = {} as T): T {
  return sumOf([...all] as object[] as Values[], zero as object as Values) as object as T;
}

function sumOf(all: Values[], zero: Values): Values {
  const keys = new Set(Object.keys(zero).length > 0 ? Object.keys(zero) : all.flatMap(Object.keys));
  return Object.fromEntries(
    Array.from(keys, (key) => {
      const values = all.flatMap((one) => ownValue(one, key) ?? []);
      return [key, added(key, ownValue(zero, key), values)];
    }),
  );
}

function added(key: string, zero: Value | undefined, values: Value[]): Value {
  const kind = zero ?? values[0];
  if (typeof kind === 'number') {
    return (values as number[]).reduce((sum, one) => (key === LARGEST ? Math.max(sum, one) : sum + one), 0);
  }
  if (typeof kind === 'string') return mergeEncoded(values as string[]);
  if (Array.isArray(kind?.counts)) return addSeries(values as object[] as TimeSeries[]) as object as Values;
  return sumOf(values as Values[], (zero as Values | undefined) ?? {});
}

/** On one grid, whose intervals are the longest of all series: each widens when its own last event needs it. */
export function addConnecting(all: ConnectingOverTime[]): ConnectingOverTime {
  const { startedAtUs, intervalUs } = addSeries(all.flatMap((one) => Object.values(one)));
  const grid = { startedAtUs, intervalUs, counts: [] };
  const added = (key: keyof ConnectingOverTime, combine?: (a: number, b: number) => number) =>
    addSeries([grid, ...all.map((one) => one[key])], combine);
  return {
    opened: added('opened'),
    connectUs: added('connectUs'),
    slowestUs: added('slowestUs', Math.max),
    failed: added('failed'),
    ended: added('ended'),
  };
}

/** A begin that is years away is a mistake, and must not cost the memory of years. */
const MAX_INTERVALS = 1_000_000;

/** Adds series that began at different times, on the grid of the earliest and with the longest of their intervals. */
export function addSeries(all: TimeSeries[], combine = (a: number, b: number) => a + b): TimeSeries {
  const startedAtUs = Math.min(...all.map((one) => one.startedAtUs));
  const endedAtUs = Math.max(...all.map((one) => one.startedAtUs + one.counts.length * one.intervalUs));
  const coarsestUs = Math.ceil((endedAtUs - startedAtUs) / MAX_INTERVALS);
  const intervalUs = Math.max(10_000, coarsestUs, ...all.map((one) => one.intervalUs));
  const counts: number[] = [];
  for (const one of all) {
    const shiftUs = one.startedAtUs - startedAtUs;
    one.counts.forEach((value, index) => {
      // The nearest begin, since the series of equal intervals begin anywhere within one.
      const at = Math.round((shiftUs + index * one.intervalUs) / one.intervalUs) * one.intervalUs;
      const interval = Math.floor(at / intervalUs);
      while (counts.length <= interval) counts.push(0);
      counts[interval] = combine(counts[interval] ?? 0, value);
    });
  }
  return { startedAtUs: all.length > 0 ? startedAtUs : 0, intervalUs, counts };
}
