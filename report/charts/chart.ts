/**
 * Description of a chart, which the renderer of pages draws (report/render/draw.ts). Only the renderer needs the chart library, so a report
 * as text never loads it.
 */
import type { EChartsCoreOption } from 'echarts/core';
import type { Dash } from './palette.ts';

export interface LegendEntry {
  name: string;
  color: string;
  dash?: Dash;
}

/** Values of a chart, for readers who point at it or step through it with the keyboard. */
export interface Readout {
  /** Pixels left and right of the plot, in the wide and in the narrow drawing. */
  left: number;
  right: number;
  /** Position of each point: 0 is the left end of the plot, 1 its right end. */
  at: number[];
  /** Label of each point: a time, a broadcast, a percentile. */
  labels: string[];
  /** A value for each point; null if there is none. */
  series: { name: string; color: string; unit: string; values: (number | null)[] }[];
}

export interface Chart {
  /** Heading, and accessible name. */
  title: string;
  /** Empty for a single series. */
  legend: LegendEntry[];
  /** Missing if the drawing itself shows all values. */
  readout?: Readout;
  /** Pixels. */
  height: number;
  /** Options of ECharts for a drawing of this many pixels. */
  option(width: number): EChartsCoreOption;
}
