/** Which share of each broadcast's copies arrived. */
import type { Batch } from '../../protocol/result/delivery.ts';
import type { Result } from '../../protocol/result/result.ts';
import { batchName } from '../model/names.ts';
import { categoryAxis, short, valueAxis } from './axes.ts';
import type { Chart } from './chart.ts';
import { COLORS } from './palette.ts';
import { columnsReadout } from './readout.ts';

const GRID = { left: 56, right: 12, top: 34, bottom: 46 };

/** Even the smallest loss is visible. */
export function deliveredByBroadcast({ delivery }: Result): Chart | null {
  const batches = (delivery?.batches ?? []).filter(({ expected }) => expected > 0);
  if (batches.length === 0) return null;
  const parts: [string, string, (batch: Batch) => number][] = [
    ['Received', COLORS.blue, ({ received }) => received],
    ['Lost, connected', COLORS.red, ({ lostConnected }) => lostConnected],
    ['Lost, disconnected', COLORS.gold, ({ lostDisconnected }) => lostDisconnected],
  ];
  const seen = parts.filter(([, , count], index) => index === 0 || batches.some((batch) => count(batch) > 0));
  const percents = seen.map(([name, color, count]) => ({
    ...{ name, color, unit: '%' },
    values: batches.map((batch) => (100 * count(batch)) / batch.expected),
  }));
  return {
    title: 'Delivered share of each broadcast',
    legend: seen.length > 1 ? seen.map(([name, color]) => ({ name, color })) : [],
    readout: columnsReadout(
      GRID,
      batches.map((batch) => `broadcast ${batchName(batch)}`),
      percents,
    ),
    height: 200,
    option: () => ({
      grid: GRID,
      xAxis: categoryAxis('broadcast', batches.map(batchName)),
      yAxis: { ...valueAxis('% of expected copies', short), min: 0, max: 100, interval: 25 },
      series: percents.map(({ color, values }, index) => ({
        type: 'bar',
        silent: true,
        stack: 'all',
        barMaxWidth: 24,
        barMinHeight: index === 0 ? 0 : 3,
        itemStyle: { color },
        data: values.map((percent) => percent || null),
      })),
    }),
  };
}
