/**
 * Memory in service: memory of the working workers, with garbage and buffers. It has two sources. One is the reading at each plateau before
 * the forced collection. The other is the peak at the full target, while connections waited and received broadcasts. The difference between
 * the peak and the memory at rest is assumed to be proportional to the connections.
 */
import type { Result } from '../../protocol/result/result.ts';
import type { Point } from '../statistics/statistics.ts';

export interface Readings {
  /** At rest. */
  plateaus: Result['memory']['plateaus'];
  /** Memory at rest, at the same plateaus. */
  inService: Pick<NonNullable<Result['memory']['inService']>, 'plateaus' | 'peakBytes'>;
}

/** Returns the layer's bytes at each plateau that has them: the higher one of the reading and the share of the peak. */
export function inServicePoints({ plateaus, inService }: Readings, layer: string): Point[] {
  const read = plateaus.flatMap(({ connections: x, [layer]: atRest }, index) => {
    const before = inService.plateaus[index]?.[layer];
    return atRest === undefined || before === undefined ? [] : [{ x, atRest, before }];
  });
  const full = read.toSorted((a, b) => a.x - b.x).at(-1);
  if (!full || full.x === 0) return read.map(({ x, before }) => ({ x, y: before }));
  const rise = Math.max(full.before, inService.peakBytes[layer] ?? 0) - full.atRest;
  return read.map(({ x, atRest, before }) => ({ x, y: Math.max(before, atRest + (rise * x) / full.x) }));
}
