/** How connecting went over time; the stages tell how many connections there were. */
import type { Result } from '../../protocol/result/result.ts';
import type { Chart } from './chart.ts';
import { COLORS } from './palette.ts';
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
