/**
 * Charts as static SVG, drawn by ECharts without a browser. Colours are CSS variables of the page around them (see
 * palette.ts), so that one drawing serves light and dark.
 */
import { BarChart, CustomChart, LineChart, ScatterChart } from 'echarts/charts';
import { GridComponent, MarkAreaComponent, MarkLineComponent } from 'echarts/components';
import { type EChartsCoreOption, init, use } from 'echarts/core';
import { SVGRenderer } from 'echarts/renderers';
import { type Dash, FONT } from './palette.ts';

use([BarChart, CustomChart, LineChart, ScatterChart, GridComponent, MarkAreaComponent, MarkLineComponent, SVGRenderer]);

export interface LegendEntry {
  name: string;
  color: string;
  dash?: Dash;
}

/** The values of a chart, for whoever points at it or steps through it with the keyboard. */
export interface Readout {
  /** Pixels left and right of the plot, in the wide and in the narrow drawing. */
  left: number;
  right: number;
  /** Where each point is: 0 is the left end of the plot, 1 its right end. */
  at: number[];
  /** What each point is: a time, a broadcast, a percentile. */
  labels: string[];
  /** One value for each point; null where there is none. */
  series: { name: string; color: string; unit: string; values: (number | null)[] }[];
}

export interface Chart {
  /** The heading, which is also the accessible name. */
  title: string;
  /** Empty for a single series, which needs no name. */
  legend: LegendEntry[];
  /** SVG of `WIDE` pixels. */
  wide: string;
  /** SVG of `NARROW` pixels, for phones. */
  narrow: string;
  /** Missing where the drawing itself has all its values. */
  readout?: Readout;
}

export const WIDE = 1000;
export const NARROW = 350;
export const LINE_WIDTH = 1.75;

/** @param option for a drawing of that many pixels */
export function drawChart(
  chart: Pick<Chart, 'title' | 'legend' | 'readout'>,
  height: number,
  option: (width: number) => EChartsCoreOption,
): Chart {
  return { ...chart, wide: svg(WIDE, height, option(WIDE)), narrow: svg(NARROW, height, option(NARROW)) };
}

/** One of several small charts side by side, the same for wide and narrow screens. */
export function drawSmall(chart: Pick<Chart, 'title' | 'readout'>, height: number, option: EChartsCoreOption): Chart {
  const drawn = svg(NARROW, height, option);
  return { ...chart, legend: [], wide: drawn, narrow: drawn };
}

/** Removes ECharts' classes, numbered across all charts of a process, which a static picture does not need. */
function svg(width: number, height: number, option: EChartsCoreOption): string {
  const chart = init(null, null, { renderer: 'svg', ssr: true, width, height });
  try {
    chart.setOption({ animation: false, textStyle: { fontFamily: FONT }, ...option });
    return chart
      .renderToSVGString()
      .replace(/<style\b[\s\S]*?<\/style>/g, '')
      .replace(/ (?:class|pointer-events|ecmeta_\w+)="[^"]*"/g, '')
      .replace(/<rect [^>]*fill="none"><\/rect>/, '')
      .replace(`<svg width="${width}" height="${height}"`, '<svg aria-hidden="true"');
  } finally {
    chart.dispose();
  }
}
