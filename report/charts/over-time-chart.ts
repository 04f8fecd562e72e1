/** Charts over the time of a run: connections, also after a planned fault, connect time, memory with its drift, and CPU of each layer. */

import type { OverTimeResult } from '../../protocol/result/memory-schema.ts';
import type { Result } from '../../protocol/result/result.ts';
import { cpuLayers, layerTitle, WHOLE_MACHINE } from '../figures/layers.ts';
import { coreCount, usableCores } from '../figures/usable-resources.ts';
import { decimals, MB } from '../text/format.ts';
import type { Chart } from './chart.ts';
import { COLORS, layerStyle } from './palette.ts';
import { type Curve, type Point, pointsOf, timeline } from './plot.ts';

type Sample = Result['samples'][number];

export function connectionsOverTime({ samples, stages, connections }: Result): Chart | null {
  const { configuredRatePerSec: configured } = connections;
  const points = pointsOf(samples, ({ t, connections: count }) => [t, count]);
  return timeline('Connections, and new connections per second, over time', stages, [
    { unit: 'connections', curves: [{ name: 'Connections', color: COLORS.blue, points, style: 'area' }] },
    {
      unit: 'new per second',
      curves: [{ name: 'Rate', color: COLORS.blue, points: rates(points) }],
      ...(configured !== null && { mark: { value: configured, text: `configured: ${decimals(configured, 0)}/s` } }),
    },
  ]);
}

/** Returns the increase per second between neighbouring samples. A decrease counts as 0. */
function rates(points: Point[]): Point[] {
  return pointsOf(points.slice(1), ([t, count], index) => {
    const [before, countBefore] = points[index] as Point;
    return [t, t > before ? Math.max(0, (count - countBefore) / (t - before)) : null];
  });
}

/** Draws connect times and failures over time; null for results without them. */
export function connectTimeOverTime({ connections: { overTime }, stages }: Result): Chart | null {
  if (!overTime) return null;
  const { t, meanMs, slowestMs, failed, ended, intervalSeconds } = overTime;
  // Inserts gaps, so that the line does not cross plateaus, during which no client connects.
  const times = (values: (number | null)[], scale = 1) =>
    pointsOf(values, (value, index) => [t[index] as number, value ?? Number.NaN], scale);
  const rates = (counts: number[]) => times(counts.map((count) => count / intervalSeconds));
  const errors: Curve[] = [
    { name: 'Attempts that failed', color: COLORS.red, points: rates(failed), style: 'area' as const },
    { name: 'Connections that ended', color: COLORS.gold, points: rates(ended), style: 'area' as const },
  ].filter(({ points }) => points.some(([, count]) => count > 0));
  return timeline('Connect time and errors over time', stages, [
    {
      unit: 'ms to connect',
      curves: [
        { name: 'Slowest', color: COLORS.orange, points: times(slowestMs) },
        { name: 'Mean', color: COLORS.blue, points: times(meanMs) },
      ],
    },
    { unit: 'per second', curves: errors },
  ]);
}

export function memoryOverTime(result: Result): Chart | null {
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
  return timeline(`Memory (${kind}) by layer over time`, stages, [
    { unit: 'MB', curves: curves(false) },
    { unit: 'MB, load generator', curves: curves(true) },
  ]);
}

export function cpuOverTime(result: Result): Chart | null {
  const { stages, environment } = result;
  const { cpuCount } = environment;
  const usable = usableCores(environment);
  const curves = cpuLayers(result).map(({ id }) =>
    curve(result, id, 'cpuPercent', id === WHOLE_MACHINE ? cpuCount : 1),
  );
  const mark = { value: 100 * usable, text: `all ${coreCount(usable)} cores` };
  return timeline('CPU by layer over time', stages, [
    { unit: '% of one core', curves: [...curves, ...cpuOfOthers(result)], mark },
  ]);
}

/** CPU use below this percentage of one core is not drawn. */
const LEAST_TAKEN = 1;

/** Draws the CPU use of other programs and of the hypervisor, which can slow the whole deployment. */
function cpuOfOthers({ samples }: Result): Curve[] {
  const of = (key: string) => pointsOf(samples, (sample) => [sample.t, number(sample, key, 'cpuPercent')]);
  const all: Curve[] = [
    { name: 'Other programs', color: COLORS.red, dash: 'dashed', points: of('others') },
    { name: 'Hypervisor (steal)', color: COLORS.red, dash: 'dotted', points: of('steal') },
  ];
  return all.filter(({ points }) => points.some(([, percent]) => percent >= LEAST_TAKEN));
}

function curve(result: Result, layer: string, key: string, scale: number): Curve {
  const points = pointsOf(result.samples, (sample) => [sample.t, number(sample, layer, key)], scale);
  return { name: layerTitle(result, layer), ...layerStyle(result, layer), points };
}

/** Returns a value of a sample; null if the sample lacks it. The keys depend on the machine and on the version. */
function number(sample: Sample, layer: string, key: string): number | null {
  const values = sample[layer] as Record<string, unknown> | null | undefined;
  const value = values?.[key] ?? (key === 'pssBytes' ? values?.derivedPssBytes : undefined);
  return typeof value === 'number' ? value : null;
}

type Moment = OverTimeResult['readings'][number];

/** Maximum number of drawn points. More points would take a megabyte and look the same. */
const MAX_MARKS = 200;

/**
 * Draws memory over time, with the readings that the analysis of leaks uses. Returns null for runs without `overTime`.
 */
export function readingsOverTime({ memory: { overTime }, samples, stages }: Result): Chart | null {
  if (!overTime) return null;
  const { kind, peaks, readings } = overTime;
  const read = (moments: Moment[], layer: string) => pointsOf(moments, ({ t, bytes }) => [t, bytes[layer]], 1 / MB);
  const marked = (name: string, color: string, moments: Moment[], layer: string): Curve => {
    const dots = moments.length <= MAX_MARKS && { style: 'points' as const, symbolSize: 8 };
    return { name, color, points: read(moments, layer), ...dots };
  };
  const panel = (unit: string, layer: string, points: Point[]) => ({
    unit,
    curves: [
      { name: 'memory', color: COLORS.blue, points },
      marked('all connected', COLORS.purple, peaks, layer),
      marked(kind === 'waves' ? 'all have left' : 'reading', COLORS.orange, readings, layer),
    ],
  });
  const rss = pointsOf(
    samples,
    ({ t, worker }) => [t, (worker as { rssBytes?: number } | undefined)?.rssBytes],
    1 / MB,
  );
  const heap = read([...peaks, ...readings], 'workerHeapUsed').sort(([a], [b]) => a - b);
  const open = pointsOf(samples, ({ t, connections }) => [t, connections]);
  return timeline('Memory of the workers and connections over time', stages, [
    panel('MB RSS', 'workerRss', rss),
    panel('MB heap', 'workerHeapUsed', heap),
    { unit: 'connections', curves: [{ name: 'connections', color: COLORS.grey, points: open, style: 'area' }] },
  ]);
}

/** Draws the connections over time after a planned fault. Returns null if no connection dropped. */
export function connectionsBack({ fault }: Result): Chart | null {
  if (!fault || fault.dropped === 0) return null;
  const { curve, connections } = fault;
  const over = (key: 'connected' | 'attempts' | 'returns', scale = 1) =>
    pointsOf(curve, (step) => [step.ms / 1000, step[key]], scale);
  // Extends the line to the end of the fault, because the last reconnect can be earlier.
  const last = curve.at(-1)?.connected ?? connections;
  const end: Point[] = fault.overMs === null ? [] : [[fault.overMs / 1000, last]];
  const connected: Point[] = [[0, connections], ...over('connected'), ...end];
  return timeline(
    'Connections after the fault',
    [],
    [
      { unit: 'connections', curves: [{ name: 'Connections', color: COLORS.blue, points: connected, style: 'area' }] },
      {
        unit: 'per second',
        curves: [
          { name: 'Reconnect attempts', color: COLORS.orange, points: over('attempts', 10) },
          { name: 'Returns', color: COLORS.green, points: over('returns', 10) },
        ],
      },
    ],
  );
}
