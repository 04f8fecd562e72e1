/** Chart of memory over time, with the readings that tell what connections leave behind. */
import type { OverTimeResult } from '../../protocol/result/over-time.ts';
import type { Result } from '../../protocol/result/result.ts';
import type { Chart } from './chart.ts';
import { COLORS } from './palette.ts';
import { type Curve, timeline } from './timeline.ts';

type Moment = OverTimeResult['readings'][number];

const MB = 1024 * 1024;
/** More of them would be a line anyway, and take a megabyte. */
const MAX_MARKS = 200;

/** @returns null for other runs */
export function readingsOverTime({ memory: { overTime }, samples, stages }: Result): Chart | null {
  if (!overTime) return null;
  const { kind, peaks, readings } = overTime;
  const waves = kind === 'waves';
  const points = (moments: Moment[], layer: string) =>
    moments.flatMap(({ t, bytes }): [number, number][] => {
      const value = bytes[layer];
      return value === undefined ? [] : [[t, value / MB]];
    });
  const marks = readings.length <= MAX_MARKS;
  const marked = (layer: string): Curve[] => [
    { name: 'all connected', color: COLORS.purple, points: points(peaks, layer), marks: true },
    { name: waves ? 'all have left' : 'reading', color: COLORS.orange, points: points(readings, layer), marks },
  ];
  const rss = samples.flatMap((sample): [number, number][] => {
    const { rssBytes } = (sample.worker ?? {}) as { rssBytes?: number };
    return rssBytes === undefined ? [] : [[sample.t, rssBytes / MB]];
  });
  const heap = [...points(peaks, 'workerHeapUsed'), ...points(readings, 'workerHeapUsed')].sort(([a], [b]) => a - b);
  return timeline({
    title: 'Memory of the workers and connections over time',
    stages,
    panels: [
      { unit: 'MB RSS', curves: [{ name: 'memory', color: COLORS.blue, points: rss }, ...marked('workerRss')] },
      {
        unit: 'MB V8 heap',
        curves: [{ name: 'memory', color: COLORS.blue, points: heap }, ...marked('workerHeapUsed')],
      },
      {
        unit: 'connections',
        curves: [
          {
            name: 'connections',
            color: COLORS.grey,
            points: samples.map(({ t, connections }) => [t, connections]),
            filled: true,
          },
        ],
      },
    ],
  });
}
