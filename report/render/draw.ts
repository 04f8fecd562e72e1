/**
 * Draws charts as static SVG with ECharts, without a browser. Colours are CSS variables of the page around them (see
 * report/charts/palette.ts), so that one drawing serves light and dark.
 */
import { BarChart, LineChart, ScatterChart } from 'echarts/charts';
import { GridComponent, MarkAreaComponent, MarkLineComponent } from 'echarts/components';
import { init, use } from 'echarts/core';
import { SVGRenderer } from 'echarts/renderers';
import type { Chart } from '../charts/chart.ts';

use([BarChart, LineChart, ScatterChart, GridComponent, MarkAreaComponent, MarkLineComponent, SVGRenderer]);

const FONT = 'system-ui, sans-serif';
/** Pixels: of a desktop, and of a phone. */
const WIDE = 1000;
const NARROW = 350;

/** @returns SVG for wide screens and for phones */
export function draw(chart: Chart): { wide: string; narrow: string } {
  return { wide: svg(chart, WIDE), narrow: svg(chart, NARROW) };
}

/** Removes ECharts' classes, numbered across all charts of a process, which a static picture does not need. */
function svg({ height, option }: Chart, width: number): string {
  const chart = init(null, null, { renderer: 'svg', ssr: true, width, height });
  try {
    chart.setOption({ animation: false, textStyle: { fontFamily: FONT }, ...option(width) });
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
