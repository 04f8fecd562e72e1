/** What the samples show: connections and their rate, memory and CPU of each layer. */
import type { Result } from '../../protocol/result.ts';
import { decimals } from '../format.ts';
import { inOrder, layerTitle } from '../layers.ts';
import type { Chart } from './draw.ts';
import { COLORS, layerColor } from './palette.ts';
import { type Curve, timeline } from './timeline.ts';

type Sample = Result['samples'][number];

const MB = 1024 * 1024;
/** The load generator is no part of what is measured. */
const GENERATOR = ['fleet', 'artillery'];
const DEPLOYMENT = ['worker', 'nginx', 'redis', 'pm2'];

export function connectionsOverTime({ samples, stages, connections }: Result): Chart | null {
  const { configuredRatePerSec: configured } = connections;
  const points = samples.map(({ t, connections: count }): [number, number] => [t, count]);
  return timeline({
    title: 'Connections, and new connections per second, over time',
    stages,
    panels: [
      { unit: 'connections', curves: [{ name: 'Connections', color: COLORS.blue, points, filled: true }] },
      {
        unit: 'new per second',
        curves: [{ name: 'Rate', color: COLORS.blue, points: rates(points) }],
        ...(configured !== null && { mark: { value: configured, text: `configured: ${decimals(configured, 0)}/s` } }),
      },
    ],
  });
}

/** Growth between neighbours. Leaving is no rate of arrival. */
function rates(points: [number, number][]): [number, number][] {
  return points.slice(1).flatMap(([t, count], index): [number, number][] => {
    const [before, countBefore] = points[index] as [number, number];
    return t > before ? [[t, Math.max(0, (count - countBefore) / (t - before))]] : [];
  });
}

export function memoryOverTime({ samples, stages }: Result): Chart | null {
  const key = samples.some((sample) => number(sample, 'worker', 'pssBytes') !== null) ? 'pssBytes' : 'rssBytes';
  const kind = key === 'pssBytes' ? 'PSS' : 'RSS';
  const inMb = (layer: string) => curve(samples, layer, key, (bytes) => bytes / MB);
  return timeline({
    title: `Memory (${kind}) by layer over time`,
    stages,
    panels: [
      { unit: `MB, deployment`, curves: DEPLOYMENT.map(inMb) },
      { unit: `MB, load generator`, curves: GENERATOR.map(inMb) },
    ],
  });
}

export function cpuOverTime({ samples, stages, environment: { cpuCount } }: Result): Chart | null {
  const layers = [...DEPLOYMENT, ...GENERATOR].map((layer) =>
    curve(samples, layer, 'cpuPercent', (percent) => percent),
  );
  // Of all cores, where the others are of one.
  const system = curve(samples, 'system', 'cpuPercent', (percent) => percent * cpuCount);
  return timeline({
    title: 'CPU by layer over time',
    stages,
    panels: [
      {
        unit: '% of one core',
        curves: [...layers, system],
        mark: { value: 100 * cpuCount, text: `all ${cpuCount} cores` },
      },
    ],
  });
}

function curve(samples: Sample[], layer: string, key: string, scale: (value: number) => number): Curve {
  const points = samples.flatMap((sample): [number, number][] => {
    const value = number(sample, layer, key);
    return value === null ? [] : [[sample.t, scale(value)]];
  });
  const dash = layer === 'fleet' ? 'dashed' : layer === 'artillery' || layer === 'system' ? 'dotted' : 'solid';
  return { name: layerTitle(layer), color: layerColor(layer), dash, points };
}

/** Rows of all layers, for the tables: the highest and the last value of each. Null where there was none. */
export function layerExtremes({ samples }: Result, key: 'rssBytes' | 'pssBytes' | 'cpuPercent') {
  return inOrder([...DEPLOYMENT, ...GENERATOR]).flatMap((layer) => {
    const values = samples.flatMap((sample) => number(sample, layer, key) ?? []);
    if (values.length === 0) return [];
    return [{ layer, first: values[0] as number, highest: Math.max(...values), last: values.at(-1) as number }];
  });
}

/** Samples hold what the machine could tell; older and newer versions, other things. */
function number(sample: Sample, layer: string, key: string): number | null {
  const value = (sample[layer] as Record<string, unknown> | null | undefined)?.[key];
  return typeof value === 'number' ? value : null;
}
