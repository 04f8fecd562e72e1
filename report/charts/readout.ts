/** The values behind a chart. */
import type { Readout } from './chart.ts';

type Point = [x: number, value: number];
interface ReadoutCurve {
  name: string;
  color: string;
  unit: string;
  /** In the order of x; the value is NaN where the curve has a gap. */
  points: Point[];
}

/** More of them are closer together than a pointer can tell. */
const MAX_POINTS = 300;
/** Significant digits: what the text of a report has, too. */
const DIGITS = 4;

/**
 * Curves have their nearest value at each point, if it is no further away than half of a step.
 * @param plot pixels at its sides, and what its axis begins and ends with
 * @param points on the axis; those of the curve with the most if not given
 */
export function readoutOf(
  { left, right, from, to }: { left: number; right: number; from: number; to: number },
  curves: ReadoutCurve[],
  label: (x: number) => string,
  points?: number[],
): Readout {
  const densest = curves.reduce<Point[]>((most, one) => (one.points.length > most.length ? one.points : most), []);
  const every = Math.ceil(densest.length / MAX_POINTS);
  const xs = points ?? densest.flatMap(([x], index) => (index % every === 0 ? x : []));
  const within = (to - from) / Math.max(1, densest.length / every) / 2;
  const columns = xs
    .map((x) => ({ x, values: curves.map((curve) => nearest(curve.points, x, within)) }))
    .filter(({ values }) => values.some((value) => value !== null));
  return {
    left,
    right,
    at: columns.map(({ x }) => Math.round(((x - from) / (to - from)) * 1e4) / 1e4),
    labels: columns.map(({ x }) => label(x)),
    series: curves.map(({ name, color, unit }, index) => ({
      ...{ name, color, unit },
      values: columns.map(({ values }) => values[index] ?? null),
    })),
  };
}

function nearest(points: Point[], x: number, within: number): number | null {
  const away = ([at]: Point) => Math.abs(at - x);
  const [first, ...others] = points;
  const near = first && others.reduce((best, one) => (away(one) < away(best) ? one : best), first);
  return near && away(near) <= within && !Number.isNaN(near[1]) ? rounded(near[1]) : null;
}

function rounded(value: number): number {
  return Math.abs(value) >= 10 ** DIGITS ? Math.round(value) : Number(value.toPrecision(DIGITS));
}
