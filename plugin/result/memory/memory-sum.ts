/** Whether the layers add up to what the whole machine uses. */

import type { Slope } from '../../../protocol/result/memory.ts';
import type { Result } from '../../../protocol/result/result.ts';
import type { Layer } from '../../samplers/index.ts';

const WHOLE = 'systemHeld';

/**
 * @param slopes by figure
 * @param layers whose figures say which of them are added: every byte is in one of these only
 * @returns null where the workers or the whole machine are not known
 */
export function memorySum(slopes: Record<string, Slope>, layers: readonly Layer[]): Result['memory']['sum'] {
  const whole = slopes[WHOLE];
  if (!whole || !slopes.workerPss) return null;
  const inSum = layers.flatMap(({ figures }) => figures.filter((figure) => figure.inSum).map(({ id }) => id));
  const parts = inSum.flatMap((layer) => (slopes[layer] ? [{ layer, slope: slopes[layer].slope }] : []));
  const partsPerConnectionBytes = parts.reduce((sum, { slope }) => sum + slope, 0);
  const unexplained = whole.slope - partsPerConnectionBytes;
  return {
    parts: parts.map(({ layer }) => layer),
    partsPerConnectionBytes,
    systemPerConnectionBytes: whole.slope,
    systemLow95: whole.low95,
    systemHigh95: whole.high95,
    unexplainedPerConnectionBytes: unexplained,
    unexplainedShare: whole.slope > 0 ? unexplained / whole.slope : null,
  };
}
