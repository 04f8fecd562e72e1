/** How connecting went over time, and with how many connections. */
import type { Result } from '../../protocol/result/result.ts';
import { bottomAxis, short, valueAxis } from './axes.ts';
import { type Chart, drawChart } from './draw.ts';
import { COLORS } from './palette.ts';
import { curvesReadout } from './readout.ts';
import { type Curve, timeline } from './timeline.ts';

const GRID = { left: 56, right: 12, top: 34, bottom: 46 };

/** Connect time, and what failed; null in results that do not have it. */
export function connectTimeOverTime({ connections: { overTime }, stages }: Result): Chart | null {
  if (!overTime) return null;
  const { t, meanMs, slowestMs, failed, ended, intervalSeconds } = overTime;
  // A line must not cross the plateaus, in which nobody connects.
  const times = (values: (number | null)[]) =>
    values.map((value, index): [number, number] => [t[index] as number, value ?? Number.NaN]);
  const rates = (counts: number[]) =>
    counts.map((count, index): [number, number] => [t[index] as number, count / intervalSeconds]);
  const errors: Curve[] = [
    { name: 'Attempts that failed', color: COLORS.red, points: rates(failed), filled: true },
    { name: 'Connections that ended', color: COLORS.gold, points: rates(ended), filled: true },
  ].filter(({ points }) => points.some(([, count]) => count > 0));
  return timeline({
    title: errors.length > 0 ? 'Connect time and errors over time' : 'Connect time over time, without an error',
    stages,
    panels: [
      {
        unit: 'ms to connect',
        curves: [
          { name: 'Slowest', color: COLORS.orange, points: times(slowestMs) },
          { name: 'Mean', color: COLORS.blue, points: times(meanMs) },
        ],
      },
      { unit: 'per second', curves: errors },
    ],
  });
}

/** Whether the server becomes slower as it fills: what a connection took, against those that there were already. */
export function connectTimeByConnections({ connections: { overTime }, samples }: Result): Chart | null {
  if (!overTime || samples.length === 0) return null;
  const { t, meanMs, slowestMs } = overTime;
  let at = 0;
  const rows = t.flatMap((time, index) => {
    while (at + 1 < samples.length && (samples[at + 1]?.t ?? 0) <= time) at++;
    const [mean, slowest] = [meanMs[index] ?? null, slowestMs[index] ?? null];
    return mean === null || slowest === null ? [] : [{ connections: samples[at]?.connections ?? 0, mean, slowest }];
  });
  if (rows.length < 3) return null;
  const inOrder = rows.toSorted((a, b) => a.connections - b.connections);
  const last = inOrder.at(-1)?.connections ?? 0;
  if (last === 0) return null;
  const curves = [
    {
      name: 'Slowest of a second',
      color: COLORS.orange,
      unit: 'ms',
      points: inOrder.map(({ connections, slowest }): [number, number] => [connections, slowest]),
    },
    {
      name: 'Mean of a second',
      color: COLORS.blue,
      unit: 'ms',
      points: inOrder.map(({ connections, mean }): [number, number] => [connections, mean]),
    },
  ];
  const legend = curves.map(({ name, color }) => ({ name, color }));
  const readout = curvesReadout({ ...GRID, from: 0, to: last }, curves, (x) => `${short(x)} connections`);
  return drawChart({ title: 'Connect time against the connections there are', legend, readout }, 260, () => ({
    grid: GRID,
    xAxis: { ...bottomAxis('connections', short), min: 0, max: last },
    yAxis: { ...valueAxis('ms to connect', short), min: 0 },
    series: curves.map(({ color, points }) => ({
      type: 'scatter',
      silent: true,
      symbolSize: 5,
      itemStyle: { color },
      data: points,
    })),
  }));
}
