/** Curves and points over one axis: the chart that most others are. */
import { bottomAxis, short, valueAxis } from './axes.ts';
import { type Chart, type LegendEntry, LINE_WIDTH, legendOf } from './chart.ts';
import { COLORS } from './palette.ts';
import { curvesReadout } from './readout.ts';

export interface PlotCurve extends LegendEntry {
  /** [x, value], in the order of x; a gap is NaN. */
  points: [number, number][];
  /** Points joined by a line, unless it is one of these. */
  style?: 'line' | 'points' | 'steps';
  symbol?: string;
  /** Pixels; 0 shows none. */
  symbolSize?: number | [number, number];
}

interface Plot {
  title: string;
  /** Of the values. */
  unit: string;
  x: {
    /** Below the axis; empty for none. */
    name: string;
    from: number;
    to: number;
    format?: (x: number) => string;
    /** Where labels stand, if not at round numbers. */
    ticks?: number[] | ((width: number) => number[]);
    /** What a point is, for who reads its values: `5,000 connections`. */
    label(x: number): string;
  };
  curves: PlotCurve[];
  /** Points that a reader can step to; those of all curves by default. */
  readAt?: number[];
  height?: number;
  /** Further series of ECharts, behind the curves, and their names. */
  behind?: { series: object[]; legend: LegendEntry[] };
}

const SIDES = { left: 56, right: 24 };
/** Room for units above, and for a name below. */
const [TOP, BOTTOM] = [34, 46];

/** Values begin at zero. @returns null where no curve has a point */
export function plot({ title, unit, x, curves, readAt, height = 260, behind }: Plot): Chart | null {
  const drawn = curves.filter(({ points }) => points.length > 0);
  if (drawn.length === 0) return null;
  const legend = [...(behind?.legend ?? []), ...legendOf(drawn)];
  const all = [...new Set(drawn.flatMap(({ points }) => points.map(([at]) => at)))].sort((a, b) => a - b);
  const read = drawn.map(({ name, color, points }) => ({ name, color, unit, points }));
  return {
    title,
    legend: legend.length > 1 ? legend : [],
    readout: curvesReadout({ ...SIDES, from: x.from, to: x.to }, read, x.label, readAt ?? all),
    height,
    option: (width) => {
      const axis = bottomAxis(x.name, x.format ?? short);
      const ticks = typeof x.ticks === 'function' ? x.ticks(width - SIDES.left - SIDES.right) : x.ticks;
      const marks = ticks && { axisLabel: { ...axis.axisLabel, customValues: ticks } };
      return {
        grid: { ...SIDES, top: TOP, bottom: BOTTOM },
        xAxis: { ...axis, min: x.from, max: x.to, ...marks },
        yAxis: { ...valueAxis(unit, short), min: 0 },
        series: [...(behind?.series ?? []), ...drawn.map(seriesOf)],
      };
    },
  };
}

function seriesOf({ color, dash, points, style = 'line', symbol = 'circle', symbolSize }: PlotCurve) {
  const isLine = style !== 'points';
  const size = symbolSize ?? (style === 'steps' ? 0 : isLine ? 8 : 5);
  return {
    type: isLine ? 'line' : 'scatter',
    silent: true,
    data: points,
    symbol,
    symbolSize: size,
    showSymbol: size !== 0,
    ...(style === 'steps' && { step: 'end' }),
    ...(isLine && { lineStyle: { color, width: LINE_WIDTH, type: dash ?? 'solid' } }),
    itemStyle: { color, ...(isLine && { borderColor: COLORS.page, borderWidth: 1 }) },
  };
}
