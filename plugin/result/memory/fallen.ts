/**
 * Memory that is lower when all have left than at the baseline, by much of what the connections seem to cost: the baseline had
 * something that was freed later, so the connections look cheaper than they are.
 */
import type { Measurements } from '../../run/measurements/measurements.ts';

/** As a share of what the connections seem to cost. */
const MAX_SHARE = 0.2;
/** Idle processes come and go by as much. */
const NOISE_BYTES = 1024 ** 2;

/** @returns ids of figures; none without a residual */
export function fallenFigures({
  plateaus,
  afterDisconnect,
}: Pick<Measurements, 'plateaus' | 'afterDisconnect'>): string[] {
  const [first, last] = [plateaus[0]?.layers ?? {}, plateaus.at(-1)?.layers ?? {}];
  return Object.entries(afterDisconnect ?? {}).flatMap(([figure, after]) => {
    const [before, full] = [first[figure], last[figure]];
    if (before === undefined || full === undefined) return [];
    return before - after > Math.max(NOISE_BYTES, MAX_SHARE * (full - before)) ? [figure] : [];
  });
}
