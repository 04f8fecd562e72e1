/** The workers one by one over time: one that does more than its share is in no sum. */
import type { Result } from '../../protocol/result/result.ts';
import { median } from '../statistics/statistics.ts';
import { MB } from '../text/format.ts';
import type { Chart } from './chart.ts';
import { COLORS, type Dash } from './palette.ts';
import { type Curve, type Point, pointsOf, timeline } from './plot.ts';

const STYLE_COLORS = [COLORS.blue, COLORS.orange, COLORS.green, COLORS.purple];
const STYLE_DASHES: Dash[] = ['solid', 'dashed', 'dotted'];
/** With more workers, the extremes and the middle. */
const MAX_CURVES = STYLE_COLORS.length * STYLE_DASHES.length;

/** CPU, memory and event loop of each worker; null in results that do not have them. */
export function workersOverTime({ workersOverTime: workers, stages, environment }: Result): Chart | null {
  const of = (points: (worker: Result['workersOverTime'][number]) => Point[]) =>
    curvesOf(workers.map((worker, index) => ({ name: worker.worker, index, points: points(worker) })));
  const cpu = of(({ process }) => (process ? zip(process.t, process.cpuPercent) : []));
  const memory = of(({ process }) => (process ? zip(process.t, process.rssBytes, 1 / MB) : []));
  const late = of(({ eventLoop }) => (eventLoop ? zip(eventLoop.t, eventLoop.delayMaxMs) : []));
  return timeline('CPU, memory and event loop of each worker over time', stages, [
    {
      unit: '% of one core',
      curves: cpu,
      ...(environment.cpuCount > 1 && { mark: { value: 100, text: 'one core: all that a worker can use' } }),
    },
    { unit: 'MB RSS', curves: memory },
    { unit: 'ms event loop late, longest', curves: late },
  ]);
}

function zip(t: number[], values: (number | null)[], scale = 1): Point[] {
  return pointsOf(t, (time, index) => [time, values[index]], scale);
}

function curvesOf(workers: { name: string; index: number; points: Point[] }[]): Curve[] {
  const known = workers.filter(({ points }) => points.length > 1);
  if (workers.length <= MAX_CURVES) {
    return known.map(({ name, index, points }) => {
      const dash = STYLE_DASHES[Math.floor(index / STYLE_COLORS.length)] as Dash;
      const color = STYLE_COLORS[index % STYLE_COLORS.length] as string;
      return { name, color, points, ...(dash !== 'solid' && { dash }) };
    });
  }
  const byTime = [
    ...Map.groupBy(
      known.flatMap(({ points }) => points),
      ([t]) => Math.round(t),
    ),
  ].sort(([a], [b]) => a - b);
  const curve = (name: string, color: string, value: (values: number[]) => number): Curve => ({
    name,
    color,
    points: byTime.map(([t, points]) => [t, value(points.map(([, one]) => one))]),
  });
  return [
    curve('Highest of all', COLORS.orange, (values) => Math.max(...values)),
    curve('Median', COLORS.blue, (values) => median(values) ?? 0),
    curve('Lowest of all', COLORS.green, (values) => Math.min(...values)),
  ];
}
