/** Latency by percentile, on a scale where 99 % to 99.9 % takes as much room as 0 % to 90 %. */
import { decodeHistogram, type Histogram, mergeHistograms } from '../../protocol/histogram.ts';
import type { Result } from '../../protocol/result/result.ts';
import { bottomAxis, short, valueAxis } from './axes.ts';
import { type Chart, drawChart, type LegendEntry, LINE_WIDTH } from './draw.ts';
import { COLORS } from './palette.ts';

interface Curve extends LegendEntry {
  histogram: Histogram;
}

const STEP = 0.02;
const SIDES = { left: 56, right: 24 };
/** Percentiles to read off. */
const READ = [0, 10, 25, 50, 75, 90, 95, 99, 99.5, 99.9, 99.99, 99.999];
/** 50 % between the powers of ten. */
const TICKS = [0, Math.log10(2), 1, 2, 3, 4, 5, 6];

const CHART_TITLES: Record<Result['latency']['from'], string> = {
  server: 'One-way latency of every receiver',
  payload: 'One-way latency of every receiver',
  publisher: 'From publish to receipt, of every receiver',
  'first receipt': 'After the first receipt, of every receiver',
};

/** Of all receivers, and of those on the publisher's worker and on other workers. */
export function oneWayPercentiles({ latency }: Result): Chart | null {
  const local = decoded(latency, 'oneWayLocal');
  const cross = decoded(latency, 'oneWayCrossWorker');
  const both = mergeHistograms([local, cross].filter((one) => one !== null));
  return percentileChart(`${CHART_TITLES[latency.from]}, by percentile`, [
    { name: 'Every receiver', color: COLORS.text, histogram: both },
    ...(local && cross && (latency.localMs ?? latency.crossWorkerMs)
      ? ([
          { name: 'Same worker as the publisher', color: COLORS.blue, dash: 'dashed', histogram: local },
          { name: 'Across workers', color: COLORS.orange, dash: 'dashed', histogram: cross },
        ] as const)
      : []),
  ]);
}

export function roundTripPercentiles({ latency }: Result): Chart | null {
  const named: [string, string, string][] = [
    ['Under load', COLORS.orange, 'roundTripHalfUnderLoad'],
    ['Unloaded', COLORS.blue, 'roundTripHalfSingle'],
  ];
  return percentileChart(
    'Round trip ÷ 2 under load and unloaded, by percentile',
    named.flatMap(([name, color, key]) => {
      const histogram = decoded(latency, key);
      return histogram ? [{ name, color, histogram }] : [];
    }),
  );
}

/** Of the messages that connections send. */
export function acknowledgementPercentiles({ messages }: Pick<Result, 'messages'>): Chart | null {
  const histogram = messages && decoded(messages, 'ackUs');
  if (!histogram) return null;
  const curve = { name: 'Every message', color: COLORS.text, histogram };
  return percentileChart('From the intended send to the acknowledgement, by percentile', [curve]);
}

/** @returns null if nothing was recorded, or the value is not a histogram */
function decoded({ histograms }: Pick<Result['latency'], 'histograms'>, key: string): Histogram | null {
  const encoded = histograms[key];
  if (encoded === undefined) return null;
  try {
    const histogram = decodeHistogram(encoded);
    return histogram.totalCount > 0 ? histogram : null;
  } catch {
    return null;
  }
}

function percentileChart(title: string, curves: Curve[]): Chart | null {
  const measured = curves.filter(({ histogram }) => histogram.totalCount > 0);
  if (measured.length === 0) return null;
  const last = Math.max(1, ...measured.map(({ histogram }) => Math.log10(histogram.totalCount)));
  const ticks = TICKS.filter((tick) => tick <= last);
  const legend = measured.map(({ name, color, dash }) => ({ name, color, ...(dash && { dash }) }));
  const shown = READ.filter((percent) => tickOf(percent) <= last);
  const readout = {
    ...SIDES,
    at: shown.map((percent) => tickOf(percent) / last),
    labels: shown.map((percent) => `${percent} % took at most`),
    series: measured.map(({ name, color, histogram }) => ({
      name,
      color,
      unit: 'ms',
      values: shown.map((percent) =>
        tickOf(percent) > Math.log10(histogram.totalCount)
          ? null
          : Number((histogram.getValueAtPercentile(percent) / 1000).toPrecision(4)),
      ),
    })),
  };
  return drawChart({ title, legend: legend.length > 1 ? legend : [], readout }, 300, () => ({
    grid: { ...SIDES, top: 34, bottom: 46 },
    xAxis: {
      ...bottomAxis('percentile', percentOfTick),
      min: 0,
      max: last,
      axisLabel: { ...bottomAxis('', percentOfTick).axisLabel, customValues: ticks },
      axisTick: { show: true, customValues: ticks, lineStyle: { color: COLORS.muted } },
    },
    yAxis: { ...valueAxis('ms', short), min: 0 },
    series: measured.map(({ histogram, color, dash }) => ({
      type: 'line',
      silent: true,
      step: 'end',
      showSymbol: false,
      data: points(histogram),
      lineStyle: { color, width: LINE_WIDTH, type: dash ?? 'solid' },
    })),
  }));
}

/** x = −log10(1 − p), up to the percentile that a single receipt exceeds. */
function points(histogram: Histogram): [number, number][] {
  const last = Math.log10(histogram.totalCount);
  const steps = Math.max(1, Math.ceil(last / STEP));
  return Array.from({ length: steps + 1 }, (_, index): [number, number] => {
    const x = Math.min(last, index * STEP);
    return [x, histogram.getValueAtPercentile(100 * (1 - 10 ** -x)) / 1000];
  });
}

function tickOf(percent: number): number {
  return -Math.log10(1 - percent / 100);
}

function percentOfTick(x: number): string {
  const percent = 100 * (1 - 10 ** -x);
  return `${percent.toLocaleString('en-US', { maximumFractionDigits: 4 })} %`;
}
