/**
 * Description of a chart, which `report/render/blocks.ts` draws. Only that file loads the chart library, so a report in
 * plain text does not need the library.
 */
import type { EChartsCoreOption } from 'echarts/core';
import type { LineDash } from './palette.ts';

export interface LegendEntry {
  name: string;
  color: string;
  dash?: LineDash;
}

/** Values of a chart that the page shows next to the pointer, or step by step with the arrow keys. */
export interface ChartReadout {
  /** Pixels left and right of the plot area, in the wide drawing and in the narrow drawing. */
  left: number;
  right: number;
  /** Position of each point: 0 is the left end of the plot, 1 its right end. */
  at: number[];
  /** Label of each point: for example a time, the number of a broadcast, or a percentile. */
  labels: string[];
  /** A value for each point; null if a point has no value. */
  series: { name: string; color: string; unit: string; values: (number | null)[] }[];
}

export interface Chart {
  /** Heading of the chart, which is also its accessible name. */
  title: string;
  /** Legend of the chart; empty for a single series. */
  legend: LegendEntry[];
  /** Values that the page shows next to the pointer. Missing if the drawing already shows all values. */
  readout?: ChartReadout;
  /** Pixels. */
  height: number;
  /** Returns the options for ECharts for a drawing of this width in pixels. */
  option(width: number): EChartsCoreOption;
}
