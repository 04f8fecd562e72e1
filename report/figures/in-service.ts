/**
 * Memory in service: what the workers need while they work, garbage and buffers included. It is known in two ways: read at
 * each plateau before the ordered collection, and at the full target as the peak while connections waited and received
 * broadcasts. What the peak adds to the memory at rest is taken to be in proportion to the connections.
 */
import type { Result } from '../../protocol/result/result.ts';
import type { Point } from '../statistics/statistics.ts';

export interface Readings {
  /** At rest. */
  plateaus: Result['memory']['plateaus'];
  /** At the same plateaus. */
  inService: Pick<NonNullable<Result['memory']['inService']>, 'plateaus' | 'peakBytes'>;
}

/** @returns bytes of the layer at each plateau that has it: the higher one of what was read and the share of the peak */
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
