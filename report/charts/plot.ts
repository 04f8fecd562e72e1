/** Draws curves in panels that are stacked and share one horizontal axis. All charts except bar charts use it. */
import type { Result } from '../../protocol/result/result.ts';
import { bottomAxis, clockText, clockTicks, valueAxis } from './axes.ts';
import type { Chart, ChartReadout, LegendEntry } from './chart.ts';
import { CHART_COLORS } from './palette.ts';

/** Point of a curve. If its value is NaN, the curve has a gap there. */
export type ChartPoint = [x: number, value: number];

export interface ChartCurve extends LegendEntry {
  /** Points of a curve, sorted by x. */
  points: ChartPoint[];
  /**
   * Style of a curve; default: a line. `area` is filled down to zero. `range` draws separate bars, such as intervals;
   * these bars have no values next to the pointer.
   */
  style?: 'area' | 'points' | 'steps' | 'range';
  symbol?: string;
  /** Size of the symbol at each point in pixels; by default, points have no symbol. */
  symbolSize?: number | [number, number];
}

interface Panel {
  /** Unit of the panel's values, shown above the vertical axis. */
  unit: string;
  curves: ChartCurve[];
  /** Reference line. */
  mark?: { value: number; text: string };
}

interface Axis {
  /** Name of the axis, shown below it; may be empty. */
  name: string;
  from: number;
  to: number;
  format(x: number): string;
  /** Returns the positions of the labels on an axis of this many pixels. Default: round numbers. */
  ticks?(width: number): number[];
  /** Returns the label of a point in the readout, such as `5,000 connections`. */
  label(x: number): string;
}

interface Plot {
  title: string;
  x: Axis;
  panels: Panel[];
  /** Stages of the run, drawn in the background. */
  stages?: Result['stages'];
  /** Positions on the axis at which the readout has values; default: the x values of the curve with the most points. */
  readAt?: number[];
}

const LINE_WIDTH = 1.75;
const PANEL_HEIGHT = 190;
const SIDES = { left: 56, right: 24 };
/** Heights in pixels: above a panel for its unit, between two panels, and below the last panel for axis labels. */
const [HEAD, GAP, FOOT] = [34, 58, 30];
/** Heights in pixels: above the panels for the names of stages, and below them for the name of the axis. */
const [STAGE_NAMES, AXIS_NAME] = [22, 16];
/** Average width of a letter in the name of a stage, in pixels. */
const LETTER_WIDTH = 6.2;
/** Gap between the names of two stages, in pixels. */
const NAME_GAP = 8;
/** Maximum number of points in a readout. With more points, the pointer could not be placed on each. */
const MAX_READ = 300;
/** Number of significant digits in a readout, as in the text of a report. */
const DIGITS = 4;
const BANDS: Record<string, string> = {
  plateau: CHART_COLORS.band,
  wave: CHART_COLORS.band,
  'after the wave': CHART_COLORS.strongBand,
  hold: CHART_COLORS.band,
  broadcasts: CHART_COLORS.strongBand,
};

/** Draws the curves. Returns null if every curve is empty or has only a single point. */
export function plotChart({ title, x, panels, stages = [], readAt }: Plot): Chart | null {
  const drawn = panels
    .map((panel) => ({ ...panel, curves: panel.curves.filter(isDrawn) }))
    .filter(({ curves }) => curves.length > 0);
  if (drawn.length === 0) return null;
  const top = HEAD + (stages.length > 0 ? STAGE_NAMES : 0);
  const readable = drawn.flatMap(({ unit, curves }) =>
    curves.filter(({ style }) => style !== 'range').map((curve) => ({ ...curve, unit })),
  );
  const option = (width: number) => {
    const room = width - SIDES.left - SIDES.right;
    return {
      grid: drawn.map((_, index) => ({ ...SIDES, top: top + index * (PANEL_HEIGHT + GAP), height: PANEL_HEIGHT })),
      xAxis: drawn.map((_, gridIndex) => {
        const axis = bottomAxis(x.name, x.format);
        const ticks = x.ticks && { customValues: x.ticks(room) };
        return { ...axis, gridIndex, min: x.from, max: x.to, axisLabel: { ...axis.axisLabel, ...ticks } };
      }),
      yAxis: drawn.map(({ unit }, gridIndex) => {
        const axis = valueAxis(unit);
        return { ...axis, gridIndex, ...(gridIndex === 0 && stages.length > 0 && { nameGap: 4 + STAGE_NAMES }) };
      }),
      series: drawn.flatMap(({ curves, mark }, index) =>
        curves.map((curve, position) => ({
          ...seriesOf(curve),
          xAxisIndex: index,
          yAxisIndex: index,
          ...(position === 0 && {
            markArea: bands(stages, x.to, index === 0 ? room : 0),
            ...(mark && { markLine: markLine(mark) }),
          }),
        })),
      ),
    };
  };
  return {
    title,
    legend: drawn.some(({ curves }) => curves.length > 1) ? legendOf(drawn.flatMap(({ curves }) => curves)) : [],
    readout: chartReadout(x, readable, readAt),
    height: top + drawn.length * (PANEL_HEIGHT + GAP) - GAP + FOOT + (x.name === '' ? 0 : AXIS_NAME),
    option,
  };
}

export function chartPoints<T>(
  all: readonly T[],
  of: (one: T, index: number) => [x: number, value: number | null | undefined],
  scale = 1,
): ChartPoint[] {
  return all.flatMap((one, index): ChartPoint[] => {
    const [x, value] = of(one, index);
    return value == null ? [] : [[x, scale * value]];
  });
}

/** Draws curves over the time of a run, from its start. */
export function plotTimeline(title: string, stages: Result['stages'], panels: Panel[]): Chart | null {
  const to = Math.max(0, ...panels.flatMap(({ curves }) => curves.map(({ points }) => points.at(-1)?.[0] ?? 0)));
  const stageAt = (t: number) => stages.findLast((stage) => stage.t <= t)?.name ?? [];
  const x = {
    ...{ name: '', from: 0, to, format: clockText },
    ticks: (width: number) => clockTicks(0, to, width),
    label: (t: number) => [clockText(t)].concat(stageAt(t)).join(', '),
  };
  return plotChart({ title, x, panels, stages });
}

function isDrawn({ points, style }: ChartCurve): boolean {
  return points.length > (style === 'points' ? 0 : 1);
}

/** Returns the entries of the legend. A name is listed once even if several panels have a curve with this name. */
function legendOf(curves: LegendEntry[]): LegendEntry[] {
  const named = curves.filter(({ name }) => name !== '');
  return [...new Map(named.map(({ name, color, dash }) => [name, { name, color, ...(dash && { dash }) }])).values()];
}

function seriesOf({ color, dash = 'solid', points, style, symbol = 'circle', symbolSize = 0 }: ChartCurve) {
  return {
    type: style === 'points' ? 'scatter' : 'line',
    silent: true,
    data: points,
    symbol,
    symbolSize,
    showSymbol: symbolSize !== 0,
    lineStyle: { color, width: LINE_WIDTH, type: dash },
    itemStyle: { color },
    ...(style === 'steps' && { step: 'end' }),
    ...(style === 'area' && { areaStyle: { color, opacity: 0.12 } }),
    ...(symbolSize === 0 && style !== 'range' && { sampling: 'lttb' }),
  };
}

/** @param room width of the plot in pixels; a stage that is narrower than its name gets no label */
function bands(stages: Result['stages'], end: number, room: number) {
  const data = stages.flatMap(({ name, t }, index) => {
    const until = Math.min(stages[index + 1]?.t ?? end, end);
    if (until <= t) return [];
    const fits = ((until - t) / end) * room > name.length * LETTER_WIDTH + NAME_GAP;
    const label = {
      show: fits,
      formatter: name,
      position: 'top',
      distance: 4,
      color: CHART_COLORS.muted,
      fontSize: 11,
    };
    return [[{ xAxis: t, itemStyle: { color: BANDS[name] ?? 'transparent' }, label }, { xAxis: until }]];
  });
  return { silent: true, data };
}

function markLine({ value, text }: { value: number; text: string }) {
  return {
    silent: true,
    symbol: 'none',
    data: [{ yAxis: value }],
    lineStyle: { color: CHART_COLORS.muted, type: 'dashed', width: 1 },
    label: { formatter: text, position: 'insideEndBottom', color: CHART_COLORS.muted, fontSize: 11 },
  };
}

/**
 * Returns the values for the readout of a chart. Each curve contributes its value nearest to the position, within half
 * the distance between two positions.
 * @param readAt positions on the axis; default: the x values of the curve with the most points
 */
export function chartReadout(
  { from, to, label }: Pick<Axis, 'from' | 'to' | 'label'>,
  curves: (ChartCurve & { unit: string })[],
  readAt?: number[],
): ChartReadout {
  const densest = curves.reduce<ChartPoint[]>((most, { points }) => (points.length > most.length ? points : most), []);
  const every = Math.ceil(densest.length / MAX_READ);
  const xs = readAt ?? densest.flatMap(([x], index) => (index % every === 0 ? x : []));
  const within = (to - from) / Math.max(1, densest.length / every) / 2;
  const columns = xs
    .map((x) => ({ x, values: curves.map(({ points }) => nearest(points, x, within)) }))
    .filter(({ values }) => values.some((value) => value !== null));
  return {
    ...SIDES,
    at: columns.map(({ x }) => Math.round(((x - from) / (to - from)) * 1e4) / 1e4),
    labels: columns.map(({ x }) => label(x)),
    series: curves.map(({ name, color, unit }, index) => ({
      ...{ name, color, unit },
      values: columns.map(({ values }) => values[index] ?? null),
    })),
  };
}

function nearest(points: ChartPoint[], x: number, within: number): number | null {
  const away = ([at]: ChartPoint) => Math.abs(at - x);
  const [first, ...others] = points;
  const near = first && others.reduce((best, one) => (away(one) < away(best) ? one : best), first);
  if (!near || away(near) > within || Number.isNaN(near[1])) return null;
  return Math.abs(near[1]) >= 10 ** DIGITS ? Math.round(near[1]) : Number(near[1].toPrecision(DIGITS));
}
