/**
 * Description of a chart, drawn by report/render/draw.ts. Only the renderer loads the chart library, so a report as
 * text does not need it.
 */
import type { EChartsCoreOption } from 'echarts/core';
import type { LineDash } from './palette.ts';

export interface LegendEntry {
  name: string;
  color: string;
  dash?: LineDash;
}

/** Values of a chart at each point, shown under the pointer or with the arrow keys. */
export interface ChartReadout {
  /** Pixels left and right of the plot, in the wide drawing and in the narrow drawing. */
  left: number;
  right: number;
  /** Position of each point: 0 is the left end of the plot, 1 its right end. */
  at: number[];
  /** Label of each point: a time, a broadcast, a percentile. */
  labels: string[];
  /** A value for each point; null if a point has no value. */
  series: { name: string; color: string; unit: string; values: (number | null)[] }[];
}

export interface Chart {
  /** Heading of the chart, which is also its accessible name. */
  title: string;
  /** Legend of the chart; empty for a single series. */
  legend: LegendEntry[];
  /** Values shown under the pointer. Missing if the drawing already shows all values. */
  readout?: ChartReadout;
  /** Pixels. */
  height: number;
  /** Returns the options for ECharts for a drawing of this width in pixels. */
  option(width: number): EChartsCoreOption;
}
