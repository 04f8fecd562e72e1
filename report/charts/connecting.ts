/** How connecting went over time, and with how many connections. */
import type { Result } from '../../protocol/result/result.ts';
import { integer } from '../text/format.ts';
import type { Chart } from './chart.ts';
import { COLORS } from './palette.ts';
import { type PlotCurve, plot } from './plot.ts';
import { type Curve, timeline } from './timeline.ts';

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
  let at = 0;
  const rows = overTime.t.flatMap((time, index) => {
    while (at + 1 < samples.length && (samples[at + 1]?.t ?? 0) <= time) at++;
    const [mean, slowest] = [overTime.meanMs[index] ?? null, overTime.slowestMs[index] ?? null];
    return mean === null || slowest === null ? [] : [{ connections: samples[at]?.connections ?? 0, mean, slowest }];
  });
  const to = Math.max(0, ...rows.map(({ connections }) => connections));
  if (rows.length < 3 || to === 0) return null;
  const inOrder = rows.toSorted((a, b) => a.connections - b.connections);
  const curve = (name: string, color: string, key: 'slowest' | 'mean'): PlotCurve => {
    return { name, color, style: 'points', points: inOrder.map((row) => [row.connections, row[key]]) };
  };
  return plot({
    title: 'Connect time against the connections there are',
    unit: 'ms to connect',
    x: { name: 'connections', from: 0, to, label: (x) => `${integer(x)} connections` },
    curves: [curve('Slowest of a second', COLORS.orange, 'slowest'), curve('Mean of a second', COLORS.blue, 'mean')],
  });
}
