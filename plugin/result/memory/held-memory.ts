/**
 * Workers whose memory does not follow their connections: much of it was freed while all of them stayed, or was still there
 * after all had left. A line through the plateaus would take this for the cost of a connection.
 */
import type { Doubt } from '../../../report/statistics/straightness.ts';
import type { Measurements } from '../../run/measurements/measurements.ts';
import type { LayerBytes } from '../../run/measurements/memory.ts';

/** As a share of what the connections seem to cost. */
const MAX_FREED_SHARE = 0.2;
const MAX_KEPT_SHARE = 0.6;
/** Idle workers come and go by as much. */
const NOISE_BYTES = 1024 ** 2;

/** What a collection leaves, to the byte; of freed memory, the process itself keeps pages. */
const EXACT = ['workerHeapUsed', 'workerExternal'];
const PROCESS = ['workerRss'];

type Measured = Pick<Measurements, 'control' | 'plateaus' | 'afterBroadcasts' | 'afterDisconnect'>;

/** @returns the doubt about all figures of the workers; undefined where there is none, or nobody collects the garbage */
export function heldDoubt({ control, plateaus, afterBroadcasts, afterDisconnect }: Measured): Doubt | undefined {
  const [first, full] = [plateaus[0]?.layers, plateaus.at(-1)?.layers];
  if (!control || !first || !full) return undefined;
  const isFreed = [EXACT, PROCESS].some((figures) => {
    const [before, held, after] = [first, full, afterBroadcasts].map((layers) => total(layers, figures));
    if (before === undefined || held === undefined || after === undefined) return false;
    return held - after > Math.max(NOISE_BYTES, MAX_FREED_SHARE * (held - before));
  });
  if (isFreed) return 'freed';
  const [before, held, left] = [first, full, afterDisconnect].map((layers) => total(layers, EXACT));
  if (before === undefined || held === undefined || left === undefined) return undefined;
  return left - before > Math.max(NOISE_BYTES, MAX_KEPT_SHARE * (held - before)) ? 'kept' : undefined;
}

function total(layers: LayerBytes | undefined, figures: string[]): number | undefined {
  const bytes = figures.map((figure) => layers?.[figure]).filter((value) => value !== undefined);
  return bytes.length < figures.length ? undefined : bytes.reduce((sum, one) => sum + one, 0);
}
