/** Chart of memory over time, with the readings from which the remaining memory is computed. */
import type { OverTimeResult } from '../../protocol/result/memory-schema.ts';
import type { Result } from '../../protocol/result/result.ts';
import { MB } from '../text/format.ts';
import type { Chart } from './chart.ts';
import { COLORS } from './palette.ts';
import { type Curve, type Point, pointsOf, timeline } from './plot.ts';

type Moment = OverTimeResult['readings'][number];

/** Limit of drawn points: more would look like a line and take a megabyte. */
const MAX_MARKS = 200;

/** Returns null for runs without `overTime`. */
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
