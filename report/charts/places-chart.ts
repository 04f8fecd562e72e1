/** Bar chart of the share of each package, with the application in another colour. */
import type { Places } from '../figures/places.ts';
import { numberText, quantityOf } from '../model/amount.ts';
import type { Chart } from './chart.ts';
import { COLORS } from './palette.ts';

const ROW = 26;
/** Pixels for the names, and for the numbers behind the bars. */
const [LEFT, RIGHT, SHARE_LEFT] = [150, 60, 0.35];
const MAX_ROWS = 12;

/** Returns null if all shares are zero. */
export function placesChart({ subject, quantity, packages, unattributed }: Places): Chart | null {
  const all = [...packages, { name: 'not attributed', value: unattributed }].filter(({ value }) => value > 0);
  const rows = all.slice(0, MAX_ROWS);
  if (rows.length === 0) return null;
  const text = { color: COLORS.text, fontSize: 12 };
  return {
    title: `${subject}, by package, in ${quantityOf(quantity).unit}`,
    legend: [],
    height: ROW * rows.length + ROW,
    option: (width) => ({
      grid: { left: Math.min(LEFT, SHARE_LEFT * width), right: RIGHT, top: ROW / 2, bottom: ROW / 2 },
      xAxis: { type: 'value', min: 0, show: false },
      yAxis: {
        ...{ type: 'category', inverse: true, data: rows.map(({ name }) => name) },
        axisLabel: { ...text, width: Math.min(LEFT, SHARE_LEFT * width) - 10, overflow: 'truncate' },
        axisLine: { show: false },
        axisTick: { show: false },
      },
      series: [
        {
          type: 'bar',
          barWidth: '60%',
          data: rows.map(({ name, value }) => ({
            value,
            itemStyle: { color: name === 'application' ? COLORS.orange : COLORS.blue },
          })),
          label: {
            ...text,
            show: true,
            position: 'right',
            formatter: ({ value }: { value: number }) => numberText(quantity, value),
          },
        },
      ],
    }),
  };
}
