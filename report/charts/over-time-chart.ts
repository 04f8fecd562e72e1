/**
 * Charts that show a run over time: connections, connect times, memory and CPU of each layer, and reconnects after a
 * planned fault.
 */

import type { OverTimeResult } from '../../protocol/result/memory-schema.ts';
import type { Result } from '../../protocol/result/result.ts';
import { cpuLayers, layerTitle, WHOLE_MACHINE } from '../figures/layers.ts';
import { coreCountText, environmentCores } from '../figures/usable-resources.ts';
import { decimalsText, MB } from '../text/format.ts';
import type { Chart } from './chart.ts';
import { CHART_COLORS, layerStyle } from './palette.ts';
import { type ChartCurve, type ChartPoint, chartPoints, plotTimeline } from './plot.ts';

type Sample = Result['samples'][number];

export function connectionsOverTimeChart({ samples, stages, connections }: Result): Chart | null {
  const { configuredRatePerSec: configured } = connections;
  const points = chartPoints(samples, ({ t, connections: count }) => [t, count]);
  return plotTimeline('Connections, and new connections per second, over time', stages, [
    { unit: 'connections', curves: [{ name: 'Connections', color: CHART_COLORS.blue, points, style: 'area' }] },
    {
      unit: 'new per second',
      curves: [{ name: 'Rate', color: CHART_COLORS.blue, points: rates(points) }],
      ...(configured !== null && { mark: { value: configured, text: `configured: ${decimalsText(configured, 0)}/s` } }),
    },
  ]);
}

/** Returns the rise per second between neighbouring samples. A fall counts as 0. */
function rates(points: ChartPoint[]): ChartPoint[] {
  return chartPoints(points.slice(1), ([t, count], index) => {
    const [before, countBefore] = points[index] as ChartPoint;
    return [t, t > before ? Math.max(0, (count - countBefore) / (t - before)) : null];
  });
}

/** Draws connect times and failures over time; null for results without them. */
export function connectTimeOverTimeChart({ connections: { overTime }, stages }: Result): Chart | null {
  if (!overTime) return null;
  const { t, meanMs, slowestMs, failed, ended, intervalSeconds } = overTime;
  // Inserts gaps, so that the line has no value during plateaus, when no client connects.
  const times = (values: (number | null)[], scale = 1) =>
    chartPoints(values, (value, index) => [t[index] as number, value ?? Number.NaN], scale);
  const rates = (counts: number[]) => times(counts.map((count) => count / intervalSeconds));
  const errors: ChartCurve[] = [
    { name: 'Attempts that failed', color: CHART_COLORS.red, points: rates(failed), style: 'area' as const },
    { name: 'Connections that ended', color: CHART_COLORS.gold, points: rates(ended), style: 'area' as const },
  ].filter(({ points }) => points.some(([, count]) => count > 0));
  return plotTimeline('Connect time and errors over time', stages, [
    {
      unit: 'ms to connect',
      curves: [
        { name: 'Slowest', color: CHART_COLORS.orange, points: times(slowestMs) },
        { name: 'Mean', color: CHART_COLORS.blue, points: times(meanMs) },
      ],
    },
    { unit: 'per second', curves: errors },
  ]);
}

export function memoryOverTimeChart(result: Result): Chart | null {
  const { samples, stages } = result;
  // Uses RSS if PSS was read fewer than twice, because a single value is not a curve. Older results of short runs can
  // have a single PSS value.
  const withPss = samples.filter((sample) => number(sample, 'worker', 'pssBytes') !== null);
  const key = withPss.length > 1 ? 'pssBytes' : 'rssBytes';
  const kind = key === 'pssBytes' ? 'PSS' : 'RSS';
  const curves = (ofGenerator: boolean) =>
    cpuLayers(result)
      .filter(({ belongsTo }) => (belongsTo === 'generator') === ofGenerator)
      .map(({ id }) => curve(result, id, key, 1 / MB));
  return plotTimeline(`Memory (${kind}) by layer over time`, stages, [
    { unit: 'MB', curves: curves(false) },
    { unit: 'MB, load generator', curves: curves(true) },
  ]);
}

export function cpuOverTimeChart(result: Result): Chart | null {
  const { stages, environment } = result;
  const { cpuCount } = environment;
  const usable = environmentCores(environment);
  const curves = cpuLayers(result).map(({ id }) =>
    curve(result, id, 'cpuPercent', id === WHOLE_MACHINE ? cpuCount : 1),
  );
  const mark = { value: 100 * usable, text: `all ${coreCountText(usable)} cores` };
  return plotTimeline('CPU by layer over time', stages, [
    { unit: '% of one core', curves: [...curves, ...cpuOfOthers(result)], mark },
  ]);
}

/** Minimum CPU use of other programs for a curve, in percent of one core. */
const LEAST_TAKEN = 1;

/**
 * Draws the CPU use of other programs, and the CPU time that the hypervisor took. Both can slow the whole deployment.
 */
function cpuOfOthers({ samples }: Result): ChartCurve[] {
  const of = (key: string) => chartPoints(samples, (sample) => [sample.t, number(sample, key, 'cpuPercent')]);
  const all: ChartCurve[] = [
    { name: 'Other programs', color: CHART_COLORS.red, dash: 'dashed', points: of('others') },
    { name: 'Hypervisor (steal)', color: CHART_COLORS.red, dash: 'dotted', points: of('steal') },
  ];
  return all.filter(({ points }) => points.some(([, percent]) => percent >= LEAST_TAKEN));
}

function curve(result: Result, layer: string, key: string, scale: number): ChartCurve {
  const points = chartPoints(result.samples, (sample) => [sample.t, number(sample, layer, key)], scale);
  return { name: layerTitle(result, layer), ...layerStyle(result, layer), points };
}

/**
 * Returns a value of a sample; null if the sample lacks it. Which values a sample has depends on the machine and on the
 * version of the program.
 */
function number(sample: Sample, layer: string, key: string): number | null {
  const values = sample[layer] as Record<string, unknown> | null | undefined;
  const value = values?.[key] ?? (key === 'pssBytes' ? values?.derivedPssBytes : undefined);
  return typeof value === 'number' ? value : null;
}

type Moment = OverTimeResult['readings'][number];

/** Maximum number of points in the chart. More points would take a megabyte and look the same. */
const MAX_MARKS = 200;

/**
 * Draws memory over time, with the readings that the analysis of leaks uses. Returns null for runs without `overTime`.
 */
export function memoryReadingsChart({ memory: { overTime }, samples, stages }: Result): Chart | null {
  if (!overTime) return null;
  const { kind, peaks, readings } = overTime;
  const read = (moments: Moment[], layer: string) => chartPoints(moments, ({ t, bytes }) => [t, bytes[layer]], 1 / MB);
  const marked = (name: string, color: string, moments: Moment[], layer: string): ChartCurve => {
    const dots = moments.length <= MAX_MARKS && { style: 'points' as const, symbolSize: 8 };
    return { name, color, points: read(moments, layer), ...dots };
  };
  const panel = (unit: string, layer: string, points: ChartPoint[]) => ({
    unit,
    curves: [
      { name: 'memory', color: CHART_COLORS.blue, points },
      marked('all connected', CHART_COLORS.purple, peaks, layer),
      marked(kind === 'waves' ? 'all have left' : 'reading', CHART_COLORS.orange, readings, layer),
    ],
  });
  const rss = chartPoints(
    samples,
    ({ t, worker }) => [t, (worker as { rssBytes?: number } | undefined)?.rssBytes],
    1 / MB,
  );
  const heap = read([...peaks, ...readings], 'workerHeapUsed').sort(([a], [b]) => a - b);
  const open = chartPoints(samples, ({ t, connections }) => [t, connections]);
  return plotTimeline('Memory of the workers and connections over time', stages, [
    panel('MB RSS', 'workerRss', rss),
    panel('MB heap', 'workerHeapUsed', heap),
    { unit: 'connections', curves: [{ name: 'connections', color: CHART_COLORS.grey, points: open, style: 'area' }] },
  ]);
}

/** Draws the connections over time after a planned fault. Returns null if no connection dropped. */
export function reconnectChart({ fault }: Result): Chart | null {
  if (!fault || fault.dropped === 0) return null;
  const { curve, connections } = fault;
  const over = (key: 'connected' | 'attempts' | 'returns', scale = 1) =>
    chartPoints(curve, (step) => [step.ms / 1000, step[key]], scale);
  // Extends the line to the end of the fault, because the last reconnect can be earlier.
  const last = curve.at(-1)?.connected ?? connections;
  const end: ChartPoint[] = fault.overMs === null ? [] : [[fault.overMs / 1000, last]];
  const connected: ChartPoint[] = [[0, connections], ...over('connected'), ...end];
  return plotTimeline(
    'Connections after the fault',
    [],
    [
      {
        unit: 'connections',
        curves: [{ name: 'Connections', color: CHART_COLORS.blue, points: connected, style: 'area' }],
      },
      {
        unit: 'per second',
        curves: [
          { name: 'Reconnect attempts', color: CHART_COLORS.orange, points: over('attempts', 10) },
          { name: 'Returns', color: CHART_COLORS.green, points: over('returns', 10) },
        ],
      },
    ],
  );
}
