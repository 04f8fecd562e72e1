/** Sums of events over time, and of what a planned fault did, over fleet processes and engines. */
import { mergeEncoded } from '../histogram.ts';
import { sumCounts } from '../sum-counts.ts';
import type { FaultCounts } from './fault.ts';
import type { ConnectingOverTime, TimeSeries } from './series.ts';

export function addFaults(all: FaultCounts[]): FaultCounts {
  const sum = (value: (one: FaultCounts) => number) => all.reduce((total, one) => total + value(one), 0);
  return {
    connections: sum((one) => one.connections),
    stayed: sum((one) => one.stayed),
    dropped: sum((one) => one.dropped),
    back: sum((one) => one.back),
    notBack: sumCounts(all.map((one) => one.notBack)),
    recovered: sum((one) => one.recovered),
    backUs: mergeEncoded(all.map((one) => one.backUs)),
    drops: addSeries(all.map((one) => one.drops)),
    attempts: addSeries(all.map((one) => one.attempts)),
    returns: addSeries(all.map((one) => one.returns)),
    failedAttempts: sumCounts(all.map((one) => one.failedAttempts)),
  };
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
