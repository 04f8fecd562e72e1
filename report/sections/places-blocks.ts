/** Tables of packages and functions. The rows of packages add up to the whole. */

import type { Chart } from '../charts/chart.ts';
import { CHART_COLORS } from '../charts/palette.ts';
import type { CodePlaceSize, CodePlaces } from '../figures/places.ts';
import { amount, numberText, quantityOf } from '../model/amount.ts';
import { chartBlock, figuresTable, type ReportBlock, type TableCell } from '../model/document.ts';

export function codePlacesBlocks(places: CodePlaces): ReportBlock[] {
  const { subject, unit, quantity, packages, functions, together, unattributed } = places;
  const sized = ({ value, halfWidth95 }: CodePlaceSize) =>
    amount(quantity, value, { low95: value - halfWidth95, high95: value + halfWidth95 });
  const per = `${quantityOf(quantity).unit} per ${unit}`;
  return [
    chartBlock(placesChart(places), ''),
    figuresTable(
      `${subject}, by package`,
      ['Package', per],
      [
        ...packages.map((one): TableCell[] => [one.name, sized(one)]),
        ['not attributed', amount(quantity, unattributed)],
        ['together', amount(quantity, together)],
      ],
    ),
    figuresTable(
      `${subject}, by function`,
      ['Function', 'Begins at', per],
      functions.map((one): TableCell[] => [one.name, one.place, sized(one)]),
    ),
  ];
}

/** Height of a bar in the chart, in pixels. */
const ROW = 26;
/**
 * Pixels left of the bars for the names and right of them for the numbers, and the share of the narrow layout that the
 * names take.
 */
const [LEFT, RIGHT, SHARE_LEFT] = [150, 60, 0.35];
const MAX_ROWS = 12;

/** Draws a chart of packages; null if all shares are zero. */
function placesChart({ subject, quantity, packages, unattributed }: CodePlaces): Chart | null {
  const all = [...packages, { name: 'not attributed', value: unattributed }].filter(({ value }) => value > 0);
  const rows = all.slice(0, MAX_ROWS);
  if (rows.length === 0) return null;
  const text = { color: CHART_COLORS.text, fontSize: 12 };
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
            itemStyle: { color: name === 'application' ? CHART_COLORS.orange : CHART_COLORS.blue },
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
