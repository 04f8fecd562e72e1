/** Charts of latency: by percentile over all copies, and by broadcast. */
import { decodeHistogram, type Histogram, isEncodedHistogram, mergeHistograms } from '../../protocol/base/histogram.ts';
import type { BroadcastBatch } from '../../protocol/result/delivery-schema.ts';
import type { Result } from '../../protocol/result/result.ts';
import { batchName } from '../model/names.ts';
import { integerText } from '../text/format.ts';
import { clockText, clockTicks } from './axes.ts';
import type { Chart, LegendEntry } from './chart.ts';
import { CHART_COLORS } from './palette.ts';
import { type ChartCurve, plotChart } from './plot.ts';

/** Distance between two points of the percentile curve, in powers of ten of the share of slower copies. */
const STEP = 0.02;
/** Percentiles that the page shows next to the pointer. */
const READ = [0, 10, 25, 50, 75, 90, 95, 99, 99.5, 99.9, 99.99, 99.999].map(powerOf);
/** Positions of the axis labels 0 %, 50 %, 90 %, 99 %, … */
const TICKS = [0, Math.log10(2), 1, 2, 3, 4, 5, 6];
/** Width of the longest axis label with a gap, in pixels. */
const TICK_WIDTH = 58;

const COUNTED: Record<Result['latency']['from'], string> = {
  server: 'How long copies took, by percentile',
  payload: 'How long copies took, by percentile',
  publisher: 'From publish to receipt of each copy, by percentile',
  'first receipt': 'How long after the first copy the others arrived, by percentile',
};

/** Draws latency by percentile: all receivers, receivers on the publisher's worker, and receivers on other workers. */
export function oneWayLatencyChart({ latency }: Result): Chart | null {
  const [local, cross] = ['oneWayLocal', 'oneWayCrossWorker'].map((key) => decoded(latency, key));
  const both = mergeHistograms([local, cross].filter((one) => one != null));
  const split = local && cross && (latency.localMs ?? latency.crossWorkerMs);
  return percentileChart(COUNTED[latency.from], [
    { name: 'Every receiver', color: CHART_COLORS.text, histogram: both },
    ...(split
      ? [
          { name: 'Same worker as the publisher', color: CHART_COLORS.blue, dash: 'dashed' as const, histogram: local },
          { name: 'Across workers', color: CHART_COLORS.orange, dash: 'dashed' as const, histogram: cross },
        ]
      : []),
  ]);
}

/** Draws the acknowledgement times of messages that clients send. */
export function acknowledgementChart({ messages }: Pick<Result, 'messages'>): Chart | null {
  const histogram = messages && decoded(messages, 'ackUs');
  if (!histogram) return null;
  const curve = { name: 'Every message', color: CHART_COLORS.text, histogram };
  return percentileChart('How long until messages were acknowledged, by percentile', [curve]);
}

/**
 * Decodes a histogram. Returns null if the histogram is missing or cannot be decoded, because other programs can write
 * results.
 */
function decoded({ histograms }: Pick<Result['latency'], 'histograms'>, key: string): Histogram | null {
  const encoded = histograms[key];
  return encoded !== undefined && isEncodedHistogram(encoded) ? decodeHistogram(encoded) : null;
}

/**
 * Draws curves of percentiles. The axis is logarithmic in the share of slower copies: 99 % to 99.9 % is as wide as 0 %
 * to 90 %.
 */
function percentileChart(title: string, curves: (LegendEntry & { histogram: Histogram })[]): Chart | null {
  const measured = curves.filter(({ histogram }) => histogram.totalCount > 0);
  const to = Math.max(1, ...measured.map(({ histogram }) => Math.log10(histogram.totalCount)));
  return plotChart({
    title,
    x: {
      ...{ name: 'percentile', from: 0, to, format: percentAt },
      ticks: (width) => ticksOn(width / to).filter((tick) => tick <= to),
      label: (x) => `${percentAt(x)} took at most`,
    },
    panels: [
      {
        unit: 'ms',
        curves: measured.map(({ histogram, ...curve }) => ({ ...curve, style: 'steps', points: quantiles(histogram) })),
      },
    ],
    readAt: READ.filter((x) => x <= to),
  });
}

/** Returns the axis labels. Leaves out labels on a narrow screen, where `99.9 %` and `99.99 %` would overlap. */
function ticksOn(pixelsPerStep: number): number[] {
  const every = Math.ceil(TICK_WIDTH / pixelsPerStep);
  return TICKS.filter((tick) => tick < 1 || tick % every === 0);
}

/** Returns the points of the percentile curve, up to the slowest copy. */
function quantiles(histogram: Histogram): [number, number][] {
  const last = Math.log10(histogram.totalCount);
  const steps = Math.max(1, Math.ceil(last / STEP));
  return Array.from({ length: steps + 1 }, (_, index): [number, number] => {
    const x = Math.min(last, index * STEP);
    return [x, histogram.getValueAtPercentile(100 * (1 - 10 ** -x)) / 1000];
  });
}

function powerOf(percent: number): number {
  return -Math.log10(1 - percent / 100);
}

function percentAt(x: number): string {
  return `${(100 * (1 - 10 ** -x)).toLocaleString('en-US', { maximumFractionDigits: 4 })} %`;
}

const MARKS: { name: string; value: (batch: BroadcastBatch) => number | null; color: string; symbol: string }[] = [
  { name: 'Last', value: ({ lastMs }) => lastMs, color: CHART_COLORS.text, symbol: 'rect' },
  { name: 'p99', value: ({ p99Ms }) => p99Ms, color: CHART_COLORS.orange, symbol: 'diamond' },
  { name: 'p50', value: ({ p50Ms }) => p50Ms, color: CHART_COLORS.blue, symbol: 'circle' },
  { name: 'First', value: ({ firstMs }) => firstMs, color: CHART_COLORS.green, symbol: 'triangle' },
];

/**
 * Draws the latency of each broadcast: first receiver, p50, p99 and last receiver. The horizontal axis shows the time
 * if the send times are known, otherwise the number of the broadcast.
 */
export function broadcastTimesChart({ delivery }: Result): Chart | null {
  const batches = (delivery?.batches ?? []).filter(({ firstMs, lastMs }) => firstMs !== null && lastMs !== null);
  const known = batches.flatMap(({ t }) => t ?? []);
  const times = known.length === batches.length && known.length > 1 ? known : null;
  const at = times ?? batches.map(({ seq }) => seq);
  const margin = times ? (Math.max(...at) - Math.min(...at)) / at.length / 2 : 0.5;
  const [from, to] = [Math.max(0, Math.min(...at) - margin), Math.max(...at) + margin];
  const nameOf = (x: number) => `broadcast ${batchName(batches[at.indexOf(x)] as BroadcastBatch)}`;
  const size = Math.max(3, Math.min(8, 500 / batches.length));
  const points = (index: number, ...values: (number | null)[]): ChartCurve['points'] =>
    values.flatMap((ms) => (ms === null ? [] : [[at[index] as number, ms]]));
  const ranges: ChartCurve = {
    ...{ name: 'First to last receiver', color: CHART_COLORS.grey, style: 'range' },
    points: batches.flatMap((batch, index) => points(index, batch.firstMs, batch.lastMs, Number.NaN)),
  };
  const marks = MARKS.map(({ value, symbol, ...mark }): ChartCurve => {
    const symbolSize: ChartCurve['symbolSize'] = symbol === 'rect' ? [size * 1.5, 2.5] : size;
    const values = batches.flatMap((batch, index) => points(index, value(batch)));
    return { ...mark, symbol, symbolSize, style: 'points', points: values };
  });
  return plotChart({
    title: 'When each broadcast reached its first and its last receiver',
    x: times
      ? {
          ...{ name: '', from, to, format: clockText, ticks: (width) => clockTicks(from, to, width) },
          label: (x) => `${nameOf(x)}, ${clockText(x)}`,
        }
      : { name: 'broadcast', from, to, format: integerText, label: nameOf },
    panels: [{ unit: 'ms after the intended send', curves: [ranges, ...marks] }],
  });
}
