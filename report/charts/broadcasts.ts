/** What became of each broadcast: when it arrived, and where it did not. */

import type { Batch } from '../../protocol/result/delivery.ts';
import type { Result } from '../../protocol/result/result.ts';
import { batchName } from '../text/batch-name.ts';
import { bottomAxis, categoryAxis, clock, clockStep, short, valueAxis } from './axes.ts';
import { type Chart, drawChart, type LegendEntry, LINE_WIDTH } from './draw.ts';
import { COLORS, type Dash } from './palette.ts';
import { columnsReadout, curvesReadout } from './readout.ts';

const HEIGHT = 280;
const GRID = { left: 56, right: 12, top: 34, bottom: 46 };
/** Of publishers; of more of them, points without lines are easier to read. */
const DASHES: Dash[] = ['solid', 'dashed', 'dotted'];

interface Api {
  value(dimension: number): number;
  coord(point: [number, number]): [number, number];
}

const MARKS: { name: string; value: (batch: Batch) => number | null; color: string; symbol: string }[] = [
  { name: 'Last', value: ({ lastMs }) => lastMs, color: COLORS.text, symbol: 'rect' },
  { name: 'p99', value: ({ p99Ms }) => p99Ms, color: COLORS.orange, symbol: 'diamond' },
  { name: 'p50', value: ({ p50Ms }) => p50Ms, color: COLORS.blue, symbol: 'circle' },
  { name: 'First', value: ({ firstMs }) => firstMs, color: COLORS.green, symbol: 'triangle' },
];

/** From the first receiver to the last, with the median and the 99th percentile between; over time where that is known. */
export function broadcastTimes({ delivery }: Result): Chart | null {
  const batches = (delivery?.batches ?? []).filter(({ firstMs, lastMs }) => firstMs !== null && lastMs !== null);
  if (batches.length === 0) return null;
  const marks = MARKS.filter(({ value }) => batches.some((batch) => value(batch) !== null));
  const legend: LegendEntry[] = [{ name: 'First to last receiver', color: COLORS.grey }, ...marks];
  const title = 'When each broadcast reached its first and its last receiver';
  const times = timesOf(batches);
  const at = times ?? batches.map((_, index) => index);
  const [from, to] = times ? reach(times) : [-0.5, batches.length - 0.5];
  const readout = curvesReadout(
    { left: GRID.left, right: GRID.right, from, to },
    marks.map(({ name, color, value }) => ({
      name,
      color,
      unit: 'ms',
      points: batches.flatMap((batch, index): [number, number][] => {
        const ms = value(batch);
        return ms === null ? [] : [[at[index] as number, ms]];
      }),
    })),
    (x) => {
      const index = at.indexOf(x);
      const name = `broadcast ${batchName(batches[index] as Batch)}`;
      return times ? `${name}, ${clock(x)}` : name;
    },
  );
  return drawChart({ title, legend: legend.map(({ name, color }) => ({ name, color })), readout }, HEIGHT, (width) => {
    const room = (width - GRID.left - GRID.right) / batches.length;
    return {
      grid: GRID,
      xAxis: times ? timeAxis(from, to, width) : categoryAxis('broadcast', seqs(batches)),
      yAxis: { ...valueAxis('ms after the intended send', short), min: 0 },
      series: [
        range(batches, at),
        ...marks.map(({ value, color, symbol }) => ({
          type: 'scatter',
          silent: true,
          symbol,
          symbolSize: symbol === 'rect' ? [Math.min(14, room * 0.7), 2.5] : Math.max(3, Math.min(8, room * 0.6)),
          itemStyle: { color },
          data: batches.map((batch, index) => [at[index], value(batch)]),
        })),
      ],
    };
  });
}
/** Of each broadcast; null in results that do not have them. */
function timesOf(batches: Batch[]): number[] | null {
  const times = batches.flatMap(({ t }) => t ?? []);
  return times.length === batches.length && times.length > 1 ? times : null;
}

/** With room for half a broadcast on either side. */
function reach(times: number[]): [number, number] {
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const margin = (last - first) / times.length / 2;
  return [Math.max(0, first - margin), last + margin];
}

function timeAxis(from: number, to: number, width: number) {
  const bottom = bottomAxis('', clock);
  const interval = clockStep(to - from, (width - GRID.left - GRID.right) / 60);
  const first = Math.ceil(from / interval) * interval;
  const customValues = Array.from(
    { length: Math.floor((to - first) / interval) + 1 },
    (_, at) => first + at * interval,
  );
  return { ...bottom, min: from, max: to, axisLabel: { ...bottom.axisLabel, customValues } };
}

function range(batches: Batch[], at: number[]) {
  return {
    type: 'custom',
    silent: true,
    encode: { x: 0, y: [1, 2] },
    data: batches.map(({ firstMs, lastMs }, index) => [at[index], firstMs, lastMs]),
    renderItem: (_: unknown, api: Api) => {
      const [x, y1] = api.coord([api.value(0), api.value(1)]);
      const [, y2] = api.coord([api.value(0), api.value(2)]);
      return { type: 'line', shape: { x1: x, y1, x2: x, y2 }, style: { stroke: COLORS.grey, lineWidth: 1 } };
    },
  };
}

/** Shares of the expected receipts; even the smallest loss is visible. */
export function coverageByBroadcast({ delivery }: Result): Chart | null {
  const batches = (delivery?.batches ?? []).filter(({ expected }) => expected > 0);
  if (batches.length === 0) return null;
  const parts: [string, string, (batch: Batch) => number][] = [
    ['Received', COLORS.blue, ({ received }) => received],
    ['Lost, connected', COLORS.red, ({ lostConnected }) => lostConnected],
    ['Lost, disconnected', COLORS.gold, ({ lostDisconnected }) => lostDisconnected],
  ];
  const seen = parts.filter(([, , count], index) => index === 0 || batches.some((batch) => count(batch) > 0));
  const legend = seen.map(([name, color]) => ({ name, color }));
  const readout = columnsReadout(
    GRID,
    batches.map((batch) => `broadcast ${batchName(batch)}`),
    seen.map(([name, color, count]) => {
      return { name, color, unit: '%', values: batches.map((batch) => (100 * count(batch)) / batch.expected) };
    }),
  );
  const title = 'Coverage of each broadcast';
  return drawChart({ title, legend: legend.length > 1 ? legend : [], readout }, 200, () => ({
    grid: GRID,
    xAxis: categoryAxis('broadcast', seqs(batches)),
    yAxis: { ...valueAxis('% of expected receipts', short), min: 0, max: 100, interval: 25 },
    series: seen.map(([, color, count], index) => ({
      type: 'bar',
      silent: true,
      stack: 'all',
      barMaxWidth: 24,
      barMinHeight: index === 0 ? 0 : 3,
      itemStyle: { color },
      data: batches.map((batch) => (count(batch) === 0 ? null : (100 * count(batch)) / batch.expected)),
    })),
  }));
}

/**
 * The Techracers study's plot: half of the probe's round trip for each broadcast, by the worker that published. Its echo takes
 * another way from each, so a single curve would jump between them. Null in results without the values.
 */
export function roundTripsByBroadcast({ latency }: Result): Chart | null {
  const { eachMs, publishers } = latency.roundTripHalfMs;
  const curves = [
    ...byPublisher('Under load', COLORS.orange, eachMs?.underLoad ?? [], publishers?.underLoad),
    ...byPublisher('Unloaded', COLORS.blue, eachMs?.single ?? [], publishers?.single),
  ];
  const count = Math.max(0, ...curves.map(({ values }) => values.length));
  if (count === 0) return null;
  const legend = curves.map(({ name, color, dash }) => ({ name, color, ...(dash && { dash }) }));
  const labels = Array.from({ length: count }, (_, index) => String(index + 1));
  const readout = columnsReadout(
    GRID,
    labels.map((label) => `round trip ${label}`),
    curves.map(({ name, color, values }) => ({
      name,
      color,
      unit: 'ms',
      values: labels.map((_, index) => values[index] ?? null),
    })),
  );
  const title = 'Round trip ÷ 2 of each broadcast, under load and unloaded';
  return drawChart({ title, legend, readout }, HEIGHT, () => ({
    grid: GRID,
    xAxis: categoryAxis('round trip', labels),
    yAxis: { ...valueAxis('ms', short), min: 0 },
    series: curves.map(({ color, dash, values, isOne }) => ({
      type: isOne ? 'line' : 'scatter',
      silent: true,
      connectNulls: true,
      symbol: 'circle',
      symbolSize: isOne && count > 60 ? 0 : 5,
      data: values,
      lineStyle: { color, width: LINE_WIDTH, type: dash ?? 'solid' },
      itemStyle: { color },
    })),
  }));
}

interface RoundTrips extends LegendEntry {
  /** Null for those of other publishers. */
  values: (number | null)[];
  /** All of one publisher, so that a line between them means something. */
  isOne: boolean;
}

function byPublisher(name: string, color: string, values: number[], publishers: string[] | undefined): RoundTrips[] {
  if (values.length === 0) return [];
  const workers = [...new Set(publishers)].sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
  if (publishers?.length !== values.length || workers.length > DASHES.length) {
    return [{ name, color, values, isOne: false }];
  }
  return workers.map((worker, index) => ({
    name: workers.length === 1 ? name : `${name}, by ${worker}`,
    color,
    ...(index > 0 && { dash: DASHES[index] as Dash }),
    values: values.map((value, at) => (publishers[at] === worker ? value : null)),
    isOne: true,
  }));
}

function seqs(batches: Batch[]): string[] {
  return batches.map(batchName);
}
