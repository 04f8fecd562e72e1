/** Do the layers add up to what the machine has lost? */
import type { Result, Slope } from '../../protocol/result.ts';

/** Every byte in one of them only: proportional sizes of processes, and the kernel's own. */
const PARTS = [
  'workerPss',
  'pm2Pss',
  'nginxPss',
  'redisPss',
  'fleetPss',
  'artilleryPss',
  'kernelTcp',
  'kernelSlab',
  'kernelPageTables',
];
const WHOLE = 'systemHeld';

/**
 * @param slopes by layer
 * @returns null where the workers or the whole machine are not known
 */
export function memorySum(slopes: Record<string, Slope>): Result['memory']['sum'] {
  const whole = slopes[WHOLE];
  if (!whole || !slopes.workerPss) return null;
  const parts = PARTS.flatMap((layer) => (slopes[layer] ? [{ layer, slope: slopes[layer].slope }] : []));
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
