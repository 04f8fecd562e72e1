/** Charts of each worker over time, because a sum over all workers would hide an overloaded worker. */
import type { Result } from '../../protocol/result/result.ts';
import { median } from '../statistics/statistics.ts';
import { MB } from '../text/format.ts';
import type { Chart } from './chart.ts';
import { CHART_COLORS, type LineDash } from './palette.ts';
import { type ChartCurve, chartPoints, plotTimeline } from './plot.ts';

const STYLE_COLORS = [CHART_COLORS.blue, CHART_COLORS.orange, CHART_COLORS.green, CHART_COLORS.purple];
const STYLE_DASHES: LineDash[] = ['solid', 'dashed', 'dotted'];
/** Maximum number of workers in the chart. With more workers, only the extremes and the median are drawn. */
const MAX_CURVES = STYLE_COLORS.length * STYLE_DASHES.length;

type Values = (number | null)[];

/** Draws CPU, memory and event loop of each worker; null for results that lack them. */
export function workersChart({ workersOverTime: workers, stages, environment }: Result): Chart | null {
  const of = (read: (worker: Result['workersOverTime'][number]) => [t?: number[], values?: Values], scale = 1) =>
    curvesOf(
      workers.map((worker) => {
        const [t = [], values = []] = read(worker);
        return { name: worker.worker, points: chartPoints(t, (time, index) => [time, values[index]], scale) };
      }),
    );
  return plotTimeline('CPU, memory and event loop of each worker over time', stages, [
    {
      unit: '% of one core',
      curves: of(({ process }) => [process?.t, process?.cpuPercent]),
      ...(environment.cpuCount > 1 && { mark: { value: 100, text: 'one core: all that a worker can use' } }),
    },
    { unit: 'MB RSS', curves: of(({ process }) => [process?.t, process?.rssBytes], 1 / MB) },
    { unit: 'ms event loop late, longest', curves: of(({ eventLoop }) => [eventLoop?.t, eventLoop?.delayMaxMs]) },
  ]);
}

/** Returns the curves with their styles. If one worker has no curve, the other workers keep their styles. */
function curvesOf(workers: Pick<ChartCurve, 'name' | 'points'>[]): ChartCurve[] {
  if (workers.length <= MAX_CURVES) {
    return workers.map((worker, index) => {
      const dash = STYLE_DASHES[Math.floor(index / STYLE_COLORS.length)] as LineDash;
      return { ...worker, color: STYLE_COLORS[index % STYLE_COLORS.length] as string, dash };
    });
  }
  const known = workers.flatMap(({ points }) => (points.length > 1 ? points : []));
  const byTime = [...Map.groupBy(known, ([t]) => Math.round(t))].sort(([a], [b]) => a - b);
  const curve = (name: string, color: string, value: (values: number[]) => number): ChartCurve => ({
    name,
    color,
    points: byTime.map(([t, points]) => [t, value(points.map(([, one]) => one))]),
  });
  return [
    curve('Highest of all', CHART_COLORS.orange, (values) => Math.max(...values)),
    curve('Median', CHART_COLORS.blue, (values) => median(values) ?? 0),
    curve('Lowest of all', CHART_COLORS.green, (values) => Math.min(...values)),
  ];
}
