/** Chart of the latency against connections: the median of all receipts, and of the last receivers. */
import type { Result } from '../../protocol/result/result.ts';
import { integer } from '../text/format.ts';
import { bottomAxis, short, valueAxis } from './axes.ts';
import { type Chart, drawChart, LINE_WIDTH } from './draw.ts';
import { COLORS } from './palette.ts';
import { curvesReadout } from './readout.ts';

const SIDES = { left: 52, right: 24 };
const HEIGHT = 260;

/** @returns null where the run had broadcasts with all connections only */
export function latencyByConnections({ latency: { byConnections } }: Result): Chart | null {
  const levels = byConnections.toSorted((a, b) => a.connections - b.connections);
  const last = levels.at(-1)?.connections ?? 0;
  if (levels.length < 2) return null;
  const curves = [
    { name: 'Last receiver, median', color: COLORS.orange, key: 'completionMs' as const },
    { name: 'Every receiver, median', color: COLORS.blue, key: 'oneWayMs' as const },
  ].map(({ name, color, key }) => ({
    ...{ name, color, unit: 'ms' },
    points: levels.flatMap((level): [number, number][] => {
      const summary = level[key];
      return summary ? [[level.connections, summary.p50]] : [];
    }),
  }));
  const readout = curvesReadout({ ...SIDES, from: 0, to: last }, curves, (x) => `${integer(x)} connections`);
  const legend = curves.map(({ name, color }) => ({ name, color }));
  return drawChart({ title: 'Latency against connections', legend, readout }, HEIGHT, () => ({
    grid: { ...SIDES, top: 34, bottom: 44 },
    xAxis: { ...bottomAxis('connections', short), min: 0, max: last },
    yAxis: { ...valueAxis('ms', short), min: 0 },
    series: curves.map(({ color, points }) => ({
      type: 'line',
      silent: true,
      data: points,
      symbol: 'circle',
      symbolSize: 8,
      itemStyle: { color },
      lineStyle: { color, width: LINE_WIDTH },
    })),
  }));
}
