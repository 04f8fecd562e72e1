/** Bar charts side by side, as SVG; drawn without a browser. */
import { BarChart } from 'echarts/charts';
import { GridComponent, TitleComponent } from 'echarts/components';
import { init, use } from 'echarts/core';
import { SVGRenderer } from 'echarts/renderers';

use([BarChart, GridComponent, TitleComponent, SVGRenderer]);

export interface Panel {
  title: string;
  /** One for each label; null leaves a gap. */
  values: (number | null)[];
  /** Text at the end of a bar. */
  format(value: number): string;
}

const PANEL_WIDTH = 290;
/** Average in the labels' font, with a margin for browsers' own fonts. */
const CHARACTER_WIDTH = 7;
const ROW_HEIGHT = 30;
const HEAD_HEIGHT = 40;
/** Colour of the rows that stand out. */
const OWN_COLOR = '#2563eb';
const OTHER_COLOR = '#94a3b8';
/** Readable on light and dark backgrounds. */
const TEXT_COLOR = '#64748b';

/** @param isOwn whether the row of that index stands out */
export function barPanels(labels: string[], panels: Panel[], isOwn: (index: number) => boolean): string {
  const height = HEAD_HEIGHT + labels.length * ROW_HEIGHT;
  const labelWidth = 10 + CHARACTER_WIDTH * Math.max(...labels.map((label) => label.length));
  const width = labelWidth + panels.length * PANEL_WIDTH;
  const chart = init(null, null, { renderer: 'svg', ssr: true, width, height });
  const left = (index: number) => labelWidth + index * PANEL_WIDTH;
  chart.setOption({
    animation: false,
    title: panels.map(({ title }, index) => ({
      text: title,
      left: left(index),
      textStyle: { fontSize: 13, color: TEXT_COLOR },
    })),
    // Space on the right for the number behind the longest bar.
    grid: panels.map((_, index) => ({ left: left(index), width: PANEL_WIDTH - 90, top: HEAD_HEIGHT - 8, bottom: 8 })),
    xAxis: panels.map((_, gridIndex) => ({ type: 'value', gridIndex, show: false })),
    yAxis: panels.map((_, gridIndex) => ({
      type: 'category',
      gridIndex,
      data: labels,
      inverse: true,
      axisLine: { show: false },
      axisTick: { show: false },
      axisLabel: { show: gridIndex === 0, color: TEXT_COLOR, fontSize: 12, width: labelWidth - 10 },
    })),
    series: panels.map(({ values, format }, index) => ({
      type: 'bar',
      xAxisIndex: index,
      yAxisIndex: index,
      barWidth: 16,
      data: values.map((value, row) => ({
        value: value ?? 0,
        itemStyle: { color: isOwn(row) ? OWN_COLOR : OTHER_COLOR },
        label: {
          show: true,
          position: 'right',
          color: TEXT_COLOR,
          formatter: value === null ? '–' : format(value),
        },
      })),
    })),
  });
  const svg = chart.renderToSVGString();
  chart.dispose();
  return svg;
}
