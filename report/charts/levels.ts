/** A figure at the levels of a setting: the mean of the runs, with its 95 % interval. */
import type { Spread } from '../../protocol/documents/repeat.ts';
import type { Described } from '../figures/figures.ts';
import { quantityOf } from '../model/amount.ts';
import { categoryAxis, short, valueAxis } from './axes.ts';
import type { Chart, DrawApi, LegendEntry } from './chart.ts';
import { COLORS } from './palette.ts';
import { columnsReadout } from './readout.ts';

const SERIES_COLORS = [COLORS.blue, COLORS.orange, COLORS.green, COLORS.purple, COLORS.gold, COLORS.red];
/** Pixels between the marks of two series at the same level. */
const STEP = 14;
const CAP = 4;
const SIDES = { left: 52, right: 18 };

/** @returns the same for all charts with series of these names */
export function levelsLegend(names: string[]): LegendEntry[] {
  return names.map((name, index) => ({ name, color: colorOf(index) }));
}

/** @param series each with one spread per level, null where there is none; the name of a single one is empty */
export function levelsChart(
  figure: Described,
  levels: string[],
  series: { name: string; spreads: (Spread | null)[] }[],
): Chart {
  const { unit, onAxis: scale = (value: number) => value } = quantityOf(figure.quantity);
  const readout = columnsReadout(
    SIDES,
    levels,
    series.flatMap(({ name, spreads }, index) => {
      const values = (value: (spread: Spread) => number | null) =>
        levels.map((_, level) => {
          const known = spreads[level] ? value(spreads[level]) : null;
          return known === null ? null : scale(known);
        });
      const color = colorOf(index);
      return [
        { name: `${name} mean`.trim(), color, unit, values: values(({ mean }) => mean) },
        { name: `${name} 95 %, from`.trim(), color, unit, values: values(({ low95 }) => low95) },
        { name: `${name} 95 %, to`.trim(), color, unit, values: values(({ high95 }) => high95) },
      ];
    }),
  );
  const option = () => ({
    grid: { ...SIDES, top: 34, bottom: 30 },
    xAxis: { ...categoryAxis('', levels), axisTick: { show: false } },
    yAxis: valueAxis(unit, short),
    series: series.flatMap(({ spreads }, index) => {
      const offset = (index - (series.length - 1) / 2) * STEP;
      const points = spreads.flatMap((spread, level) => (spread ? [{ level, spread }] : []));
      return [
        {
          type: 'custom',
          silent: true,
          encode: { x: 0, y: [1, 2] },
          data: points.map(({ level, spread }) => [
            level,
            scale(spread.low95 ?? spread.mean),
            scale(spread.high95 ?? spread.mean),
          ]),
          renderItem: (_: unknown, api: DrawApi) => interval(api, offset, colorOf(index)),
        },
        {
          type: 'scatter',
          silent: true,
          symbolSize: 9,
          symbolOffset: [offset, 0],
          data: points.map(({ level, spread }) => [level, scale(spread.mean)]),
          itemStyle: { color: COLORS.page, borderColor: colorOf(index), borderWidth: 2 },
        },
      ];
    }),
  });
  return { title: figure.title, legend: [], readout, height: 210, small: true, option };
}

/** A line with caps at both ends. */
function interval(api: DrawApi, offset: number, color: string) {
  const [x, low] = api.coord([api.value(0), api.value(1)]);
  const [, high] = api.coord([api.value(0), api.value(2)]);
  const at = x + offset;
  const line = (x1: number, y1: number, x2: number, y2: number) => ({
    type: 'line',
    shape: { x1, y1, x2, y2 },
    style: { stroke: color, lineWidth: 1.5 },
  });
  return {
    type: 'group',
    children: [line(at, low, at, high), ...[low, high].map((y) => line(at - CAP, y, at + CAP, y))],
  };
}

function colorOf(index: number): string {
  return SERIES_COLORS[index % SERIES_COLORS.length] as string;
}
