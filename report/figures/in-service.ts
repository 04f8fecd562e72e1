/**
 * Estimates memory in service: the memory of workers that are serving connections, with garbage and buffers. One source
 * is the reading at each plateau before the forced garbage collection. The other source is the peak while all
 * connections were open, idle or receiving broadcasts. The difference between the peak and the memory at rest (after a
 * collection) is assumed to be proportional to the connections.
 */
import type { Result } from '../../protocol/result/result.ts';
import type { FitPoint } from '../statistics/statistics.ts';

export interface InServiceReadings {
  /** At rest. */
  plateaus: Result['memory']['plateaus'];
  /** Memory in service at the plateaus before a garbage collection, and at the peak of the run. */
  inService: Pick<NonNullable<Result['memory']['inService']>, 'plateaus' | 'peakBytes'>;
}

/**
 * Returns the layer's bytes at each plateau: the reading before the garbage collection or the plateau's share of the
 * peak, whichever is higher.
 */
export function inServicePoints({ plateaus, inService }: InServiceReadings, layer: string): FitPoint[] {
  const read = plateaus.flatMap(({ connections: x, [layer]: atRest }, index) => {
    const before = inService.plateaus[index]?.[layer];
    return atRest === undefined || before === undefined ? [] : [{ x, atRest, before }];
  });
  const full = read.toSorted((a, b) => a.x - b.x).at(-1);
  if (!full || full.x === 0) return read.map(({ x, before }) => ({ x, y: before }));
  const rise = Math.max(full.before, inService.peakBytes[layer] ?? 0) - full.atRest;
  return read.map(({ x, atRest, before }) => ({ x, y: Math.max(before, atRest + (rise * x) / full.x) }));
}
