/** Connections over time after a planned fault. */
import type { Result } from '../../protocol/result/result.ts';
import type { Chart } from './chart.ts';
import { COLORS } from './palette.ts';
import { type Point, pointsOf, timeline } from './plot.ts';

/** Returns null if no connection dropped. */
export function connectionsBack({ fault }: Result): Chart | null {
  if (!fault || fault.dropped === 0) return null;
  const { curve, connections } = fault;
  const over = (key: 'connected' | 'attempts' | 'returns', scale = 1) =>
    pointsOf(curve, (step) => [step.ms / 1000, step[key]], scale);
  // Extends the line beyond the last reconnect to the end of the fault.
  const last = curve.at(-1)?.connected ?? connections;
  const end: Point[] = fault.overMs === null ? [] : [[fault.overMs / 1000, last]];
  const connected: Point[] = [[0, connections], ...over('connected'), ...end];
  return timeline(
    'Connections after the fault',
    [],
    [
      { unit: 'connections', curves: [{ name: 'Connections', color: COLORS.blue, points: connected, style: 'area' }] },
      {
        unit: 'per second',
        curves: [
          { name: 'Attempts to come back', color: COLORS.orange, points: over('attempts', 10) },
          { name: 'Returns', color: COLORS.green, points: over('returns', 10) },
        ],
      },
    ],
  );
}
