/** What became of each broadcast: when it arrived, and where it did not. */
import type { Batch } from '../../protocol/result/delivery.ts';
import type { Result } from '../../protocol/result/result.ts';
import { categoryAxis, short, valueAxis } from './axes.ts';
import { type Chart, drawChart, type LegendEntry, LINE_WIDTH } from './draw.ts';
import { COLORS } from './palette.ts';

const HEIGHT = 280;
const GRID = { left: 56, right: 12, top: 34, bottom: 46 };

interface Api {
  value(dimension: number): number;
  coord(point: [number, number]): [number, number];
}

/** From the first receiver to the last, with the median and the 99th percentile between. */
export function broadcastTimes({ delivery }: Result): Chart | null {
  const batches = (delivery?.batches ?? []).filter(({ firstMs, lastMs }) => firstMs !== null && lastMs !== null);
  if (batches.length === 0) return null;
  const legend: LegendEntry[] = [
    { name: 'First to last receiver', color: COLORS.grey },
    { name: 'Last', color: COLORS.text },
    { name: 'p99', color: COLORS.orange },
    { name: 'p50', color: COLORS.blue },
    { name: 'First', color: COLORS.green },
  ];
  const marks: [(batch: Batch) => number | null, string, string][] = [
    [({ lastMs }) => lastMs, COLORS.text, 'rect'],
    [({ p99Ms }) => p99Ms, COLORS.orange, 'diamond'],
    [({ p50Ms }) => p50Ms, COLORS.blue, 'circle'],
    [({ firstMs }) => firstMs, COLORS.green, 'triangle'],
  ];
  const title = 'When each broadcast reached its first and its last receiver';
  return drawChart({ title, legend }, HEIGHT, (width) => {
    const room = (width - GRID.left - GRID.right) / batches.length;
    return {
      grid: GRID,
      xAxis: categoryAxis('broadcast', seqs(batches)),
      yAxis: { ...valueAxis('ms after the intended send', short), min: 0 },
      series: [
        range(batches),
        ...marks.map(([value, color, symbol]) => ({
          type: 'scatter',
          silent: true,
          symbol,
          symbolSize: symbol === 'rect' ? [Math.min(14, room * 0.7), 2.5] : Math.max(3, Math.min(8, room * 0.6)),
          itemStyle: { color },
          data: batches.map(value),
        })),
      ],
    };
  });
}

function range(batches: Batch[]) {
  return {
    type: 'custom',
    silent: true,
    encode: { x: 0, y: [1, 2] },
    data: batches.map(({ firstMs, lastMs }, index) => [index, firstMs, lastMs]),
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
  return drawChart({ title: 'Coverage of each broadcast', legend: legend.length > 1 ? legend : [] }, 200, () => ({
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

/** The Techracers study's plot: half of the probe's round trip for each broadcast. Null in results without the values. */
export function roundTripsByBroadcast({ latency }: Result): Chart | null {
  const { eachMs } = latency.roundTripHalfMs;
  const curves = [
    { name: 'Under load', color: COLORS.orange, values: eachMs?.underLoad ?? [] },
    { name: 'Unloaded', color: COLORS.blue, values: eachMs?.single ?? [] },
  ].filter(({ values }) => values.length > 0);
  const count = Math.max(0, ...curves.map(({ values }) => values.length));
  if (count === 0) return null;
  const legend = curves.map(({ name, color }) => ({ name, color }));
  return drawChart({ title: 'Round trip ÷ 2 of each broadcast, under load and unloaded', legend }, HEIGHT, () => ({
    grid: GRID,
    xAxis: categoryAxis(
      'round trip',
      Array.from({ length: count }, (_, index) => String(index + 1)),
    ),
    yAxis: { ...valueAxis('ms', short), min: 0 },
    series: curves.map(({ color, values }) => ({
      type: 'line',
      silent: true,
      symbol: 'circle',
      symbolSize: count > 60 ? 0 : 5,
      data: values,
      lineStyle: { color, width: LINE_WIDTH },
      itemStyle: { color },
    })),
  }));
}

function seqs(batches: Batch[]): string[] {
  return batches.map(({ seq }) => String(seq));
}
