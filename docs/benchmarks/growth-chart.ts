/** The figures of all sizes, one panel below the other. Connections on a logarithmic scale, and times, too. */
import { bottomAxis, short, valueAxis } from '../../report/charts/axes.ts';
import { type Chart, LINE_WIDTH } from '../../report/charts/chart.ts';
import type { Panel } from './growth.ts';

const PANEL_HEIGHT = 150;
const HEAD = 40;
const GAP = 66;
const FOOT = 46;
/** Of a power of ten, so that the outermost marks stand clear of the edges. */
const MARGIN = 0.08;

/** @param sizes connections of each report, ascending; @returns null where there is nothing */
export function growthChart(sizes: number[], panels: Panel[]): Chart | null {
  const drawn = panels.filter(({ curves }) => curves.some(({ values }) => values.some((value) => value !== null)));
  const [smallest, largest] = [sizes[0], sizes.at(-1)];
  if (smallest === undefined || largest === undefined || drawn.length === 0) return null;
  const height = HEAD + drawn.length * PANEL_HEIGHT + (drawn.length - 1) * GAP + FOOT;
  const layers = drawn.flatMap(({ curves }) => (curves.length > 1 ? curves : []));
  const legend = [
    ...new Map(layers.map(({ name, color, dash }) => [name, { name, color, ...(dash && { dash }) }])).values(),
  ];
  const ticks = sizes.map(Math.log10);
  return {
    title: 'What a connection and a message cost at each size',
    legend,
    height,
    option: () => ({
      grid: drawn.map((_, index) => ({
        left: 56,
        right: 20,
        top: HEAD + index * (PANEL_HEIGHT + GAP),
        height: PANEL_HEIGHT,
      })),
      xAxis: drawn.map((_, gridIndex) => {
        const axis = bottomAxis(gridIndex === drawn.length - 1 ? 'connections' : '', connectionsAt);
        return {
          ...axis,
          gridIndex,
          min: Math.log10(smallest) - MARGIN,
          max: Math.log10(largest) + MARGIN,
          axisLabel: { ...axis.axisLabel, customValues: ticks },
        };
      }),
      yAxis: drawn.map(({ title, unit, expected }, gridIndex) => ({
        ...valueAxis(`${title}, ${unit}`, short),
        gridIndex,
        ...(expected === 'growing' ? { type: 'log' } : { min: 0 }),
      })),
      series: drawn.flatMap(({ curves }, index) =>
        curves.map(({ color, dash, values }) => ({
          type: 'line',
          silent: true,
          xAxisIndex: index,
          yAxisIndex: index,
          data: values.map((value, at) => [ticks[at], value]),
          symbol: 'circle',
          symbolSize: 7,
          itemStyle: { color },
          lineStyle: { color, width: LINE_WIDTH, type: dash ?? 'solid' },
        })),
      ),
    }),
  };
}

function connectionsAt(log: number): string {
  return short(Math.round(10 ** log));
}
