/** Curves over the time of a run, in panels below each other, with the stages of the run in the background. */
import type { Result } from '../../protocol/result/result.ts';
import { bottomAxis, clock, clockStep, short, valueAxis } from './axes.ts';
import { type Chart, type LegendEntry, LINE_WIDTH, legendOf } from './chart.ts';
import { COLORS } from './palette.ts';
import { curvesReadout } from './readout.ts';

export interface Curve extends LegendEntry {
  /** [seconds, value]. */
  points: [number, number][];
  /** Filled down to zero. */
  filled?: boolean;
  /** Single points, without a line between them. */
  marks?: boolean;
}

export interface Panel {
  /** Above its axis. */
  unit: string;
  curves: Curve[];
  /** A line to compare with. */
  mark?: { value: number; text: string };
}

interface Plan {
  title: string;
  panels: Panel[];
  stages: Result['stages'];
}

const PANEL_HEIGHT = 190;
/** Room for units, and for the names of the stages below. */
const HEAD = 56;
const STAGE_NAMES = 26;
const LEFT = 56;
const RIGHT = 12;
const GAP = 58;
const FOOT = 30;
/** Average width of a letter in a stage's name. */
const LETTER_WIDTH = 6.2;
/** Between two names. */
const NAME_GAP = 8;
const MARK_SIZE = 8;
const BANDS: Record<string, string> = {
  plateau: COLORS.band,
  wave: COLORS.band,
  'after the wave': COLORS.strongBand,
  hold: COLORS.band,
  broadcasts: COLORS.strongBand,
};

/** @returns null where no curve has two points */
export function timeline({ title, panels, stages }: Plan): Chart | null {
  const drawn = panels
    .map((panel) => ({ ...panel, curves: panel.curves.filter(({ points }) => points.length > 1) }))
    .filter(({ curves }) => curves.length > 0);
  const curves = drawn.flatMap((panel) => panel.curves);
  if (curves.length === 0) return null;
  const end = Math.max(...curves.map(({ points }) => points.at(-1)?.[0] ?? 0));
  const legend = curves.length > drawn.length ? legendOf(curves) : [];
  const height = HEAD + drawn.length * PANEL_HEIGHT + (drawn.length - 1) * GAP + FOOT;
  const readout = curvesReadout(
    { left: LEFT, right: RIGHT, from: 0, to: end },
    drawn.flatMap(({ unit, curves: own }) => own.map((one) => ({ ...one, unit }))),
    (t) => [clock(t), ...stageAt(stages, t)].join(', '),
  );
  const option = (width: number) => {
    const plot = width - LEFT - RIGHT;
    const bottom = bottomAxis('', clock);
    // The end of the data is not a round number, and there is no room for its label.
    const timeAxis = { ...bottom, axisLabel: { ...bottom.axisLabel, showMaxLabel: false } };
    const interval = clockStep(end, plot / 60);
    return {
      grid: drawn.map((_, index) => ({
        left: LEFT,
        right: RIGHT,
        top: HEAD + index * (PANEL_HEIGHT + GAP),
        height: PANEL_HEIGHT,
      })),
      xAxis: drawn.map((_, gridIndex) => ({
        ...timeAxis,
        gridIndex,
        min: 0,
        max: end,
        interval,
      })),
      yAxis: drawn.map(({ unit }, gridIndex) => ({
        ...valueAxis(unit, short),
        gridIndex,
        min: 0,
        ...(gridIndex === 0 && stages.length > 0 && { nameGap: STAGE_NAMES }),
      })),
      series: drawn.flatMap(({ curves: own, mark }, index) =>
        own.map((curve, position) => ({
          type: 'line',
          silent: true,
          xAxisIndex: index,
          yAxisIndex: index,
          data: curve.points,
          ...(curve.marks ? marks(curve) : line(curve)),
          ...(curve.filled && { areaStyle: { color: curve.color, opacity: 0.12 } }),
          ...(position === 0 && {
            markArea: bands(stages, end, index === 0 ? plot : 0),
            ...(mark && { markLine: markLine(mark) }),
          }),
        })),
      ),
    };
  };
  return { title, legend, readout, height, option };
}

function stageAt(stages: Result['stages'], at: number): string[] {
  return stages.flatMap(({ name, t }, index) => (t <= at && at < (stages[index + 1]?.t ?? Infinity) ? [name] : []));
}

function line({ color, dash }: Curve) {
  return { showSymbol: false, sampling: 'lttb', lineStyle: { color, width: LINE_WIDTH, type: dash ?? 'solid' } };
}

function marks({ color }: Curve) {
  return {
    showSymbol: true,
    symbol: 'circle',
    symbolSize: MARK_SIZE,
    lineStyle: { width: 0 },
    itemStyle: { color, borderColor: COLORS.page, borderWidth: 1 },
  };
}

/** @param plot width in pixels; a stage without room for its name gets none */
function bands(stages: Result['stages'], end: number, plot: number) {
  const data = stages.flatMap(({ name, t }, index) => {
    const until = Math.min(stages[index + 1]?.t ?? end, end);
    if (until <= t) return [];
    const fits = ((until - t) / end) * plot > name.length * LETTER_WIDTH + NAME_GAP;
    return [
      [
        {
          xAxis: t,
          itemStyle: { color: BANDS[name] ?? 'transparent' },
          label: { show: fits, formatter: name, position: 'top', distance: 4, color: COLORS.muted, fontSize: 11 },
        },
        { xAxis: until },
      ],
    ];
  });
  return { silent: true, data };
}

function markLine({ value, text }: { value: number; text: string }) {
  return {
    silent: true,
    symbol: 'none',
    data: [{ yAxis: value }],
    lineStyle: { color: COLORS.muted, type: 'dashed', width: 1 },
    label: { formatter: text, position: 'insideEndBottom', color: COLORS.muted, fontSize: 11 },
  };
}
