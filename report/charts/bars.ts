/** Counts by name, as bars from the left with the number at their end. */
import { integer } from '../text/format.ts';
import type { Chart } from './chart.ts';
import { COLORS } from './palette.ts';

const ROW_HEIGHT = 28;
/** Beyond, the table has them all. */
const ROWS = 40;
const LETTER_WIDTH = 8;

/** @returns null of nothing */
export function countBars(
  title: string,
  counts: Record<string, number>,
  color: string = COLORS.blue,
  text: (value: number) => string = integer,
): Chart | null {
  const rows = Object.entries(counts).slice(0, ROWS);
  if (rows.length === 0) return null;
  const longest = Math.max(...rows.map(([name]) => name.length)) * LETTER_WIDTH + 24;
  const option = (width: number) => {
    const left = Math.min(longest, width * 0.4);
    return {
      grid: { left, right: 76, top: 6, bottom: 6 },
      xAxis: { type: 'value', show: false, min: 0 },
      yAxis: {
        type: 'category',
        inverse: true,
        data: rows.map(([name]) => name),
        axisLine: { show: false },
        axisTick: { show: false },
        axisLabel: { color: COLORS.text, fontSize: 12, width: left - 10, overflow: 'truncate' },
      },
      series: [
        {
          type: 'bar',
          silent: true,
          barWidth: 16,
          barMinHeight: 2,
          itemStyle: { color },
          label: {
            show: true,
            position: 'right',
            color: COLORS.text,
            fontSize: 12,
            formatter: ({ value }: { value: number }) => text(value),
          },
          data: rows.map(([, count]) => count),
        },
      ],
    };
  };
  return { title, legend: [], height: rows.length * ROW_HEIGHT + 12, option };
}
