/** The values behind a chart: of curves over time, and of what stands side by side. */
import type { Readout } from './chart.ts';

interface ReadoutCurve {
  name: string;
  color: string;
  unit: string;
  /** [x, value], in the order of x; NaN where the curve has a gap. */
  points: [number, number][];
}

/** More of them are closer together than a pointer can tell. */
const MAX_POINTS = 300;
/** Significant digits: what the text of a report has, too. */
const DIGITS = 4;

interface Plot {
  /** Pixels. */
  left: number;
  right: number;
  from: number;
  to: number;
}

/**
 * Of curves that share an axis, which have their nearest value at each point, if it is no further away than half of a step.
 * @param points on the axis; those of the curve with the most if not given
 */
export function curvesReadout(
  { left, right, from, to }: Plot,
  curves: ReadoutCurve[],
  label: (x: number) => string,
  points?: number[],
): Readout {
  const all = densest(curves);
  const every = Math.ceil(all.length / MAX_POINTS);
  const step = (to - from) / Math.max(1, all.length / every);
  const shown = points && points.length <= MAX_POINTS ? points : all.filter((_, index) => index % every === 0);
  const columns = shown
    .map((x) => ({ x, values: curves.map((curve) => nearest(curve.points, x, step / 2)) }))
    .filter(({ values }) => values.some((value) => value !== null));
  return {
    left,
    right,
    at: columns.map(({ x }) => share((x - from) / (to - from))),
    labels: columns.map(({ x }) => label(x)),
    series: curves.map(({ name, color, unit }, index) => ({
      name,
      color,
      unit,
      values: columns.map(({ values }) => values[index] ?? null),
    })),
  };
}

/** Of values that stand side by side, one column for each label. */
export function columnsReadout(
  { left, right }: Pick<Plot, 'left' | 'right'>,
  labels: string[],
  series: Readout['series'],
): Readout {
  return {
    left,
    right,
    at: labels.map((_, index) => share((index + 0.5) / labels.length)),
    labels,
    series: series.map((one) => ({
      ...one,
      values: one.values.map((value) => (value === null ? null : rounded(value))),
    })),
  };
}

function densest(curves: ReadoutCurve[]): number[] {
  const all = curves.map(({ points }) => points.map(([x]) => x));
  return all.reduce((most, xs) => (xs.length > most.length ? xs : most), []);
}

function nearest(points: [number, number][], x: number, within: number): number | null {
  let [low, high] = [0, points.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((points[middle] as [number, number])[0] < x) low = middle + 1;
    else high = middle;
  }
  const near = [points[low - 1], points[low]]
    .filter((point) => point !== undefined && Math.abs(point[0] - x) <= within)
    .sort((a, b) => Math.abs((a?.[0] ?? 0) - x) - Math.abs((b?.[0] ?? 0) - x))[0];
  // A gap in a curve is not a number.
  return near && !Number.isNaN(near[1]) ? rounded(near[1]) : null;
}

function rounded(value: number): number {
  return Math.abs(value) >= 10 ** DIGITS ? Math.round(value) : Number(value.toPrecision(DIGITS));
}

function share(value: number): number {
  return Math.round(value * 1e4) / 1e4;
}
