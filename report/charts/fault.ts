/** How connections come back after a planned fault. */
import type { Result } from '../../protocol/result/result.ts';
import type { Chart } from './chart.ts';
import { COLORS } from './palette.ts';
import { timeline } from './timeline.ts';

/** @returns null where no connection dropped */
export function connectionsBack({ fault }: Result): Chart | null {
  if (!fault || fault.dropped === 0) return null;
  const { curve, connections } = fault;
  const points = (key: 'attempts' | 'returns') =>
    curve.map((step): [number, number] => [step.ms / 1000, step[key] * 10]);
  const connected = curve.map(({ ms, connected }): [number, number] => [ms / 1000, connected]);
  // Until it was over, so that the line does not end with the last return.
  const last = curve.at(-1)?.connected ?? connections;
  const end: [number, number][] = fault.overMs === null ? [] : [[fault.overMs / 1000, last]];
  return timeline({
    title: 'Connections after the fault',
    stages: [],
    panels: [
      {
        unit: 'connections',
        curves: [
          { name: 'Connections', color: COLORS.blue, points: [[0, connections], ...connected, ...end], filled: true },
        ],
      },
      {
        unit: 'per second',
        curves: [
          { name: 'Attempts to come back', color: COLORS.orange, points: points('attempts') },
          { name: 'Returns', color: COLORS.green, points: points('returns') },
        ],
      },
    ],
  });
}
