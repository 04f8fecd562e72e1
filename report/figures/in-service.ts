/**
 * Estimates memory in service: memory of working workers, with garbage and buffers. One source is the reading at each
 * plateau before the forced collection. The other source is the peak with all connections open, while they waited and
 * received broadcasts. The difference between the peak and the memory at rest is assumed to be proportional to the
 * connections.
 */
import type { Result } from '../../protocol/result/result.ts';
import type { FitPoint } from '../statistics/statistics.ts';

export interface InServiceReadings {
  /** At rest. */
  plateaus: Result['memory']['plateaus'];
  /** Memory in service at the same plateaus, and at the peak. */
  inService: Pick<NonNullable<Result['memory']['inService']>, 'plateaus' | 'peakBytes'>;
}

/**
 * Returns the layer's bytes at each plateau: the reading before the collection or the plateau's share of the peak,
 * whichever is higher.
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
