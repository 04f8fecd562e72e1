/** Pauses of the server's event loop that its clients see: copies of consecutive broadcasts come at the same moment. */

import type { Batch } from '../../../../protocol/result/delivery-schema.ts';
import { valuesOf } from '../../../../protocol/result/finding-values.ts';
import { standstill } from '../../../../report/figures/stalls.ts';
import { decimals } from '../../../../report/text/format.ts';
import { type Check, checkUnless, type Found, type Measured } from '../../check.ts';
import { longestDelayMs, MAX_GROWTH } from '../../evidence.ts';

/** Share of the time between two broadcasts within which their first copies count as one moment. */
const MAX_SPREAD_SHARE = 0.2;
/** Fewest broadcasts that arrive together, as a share of those sent during the pause: in a queue, two can do so by chance. */
const MIN_SHARE = 0.5;
/** A shorter pause is garbage collection, or a moment of a busy machine. */
const MIN_STALL_MS = 200;

export const stalls: Check[] = [checkUnless('abort', 'WORKER_STALLED', (result) => stalledServer(result))];

interface Stall {
  /** Time at which the first copies arrived, in seconds. */
  end: number;
  /** From the first of its broadcasts: the server may have stood still before. */
  lengthMs: number;
  broadcasts: number;
  /** Seconds between its broadcasts. */
  apart: number;
}

/** @returns undefined where the server did not stand still during the broadcasts, as its clients saw it */
export function stalledServer(result: Measured): Found {
  const least = Math.max(MIN_STALL_MS, MAX_GROWTH * longestDelayMs(result));
  const found = stallsAmong(result.delivery?.batches ?? []).filter(({ lengthMs }) => lengthMs >= least);
  if (found.length === 0) return undefined;
  const longest = Math.max(...found.map(({ lengthMs }) => lengthMs)) / 1000;
  const times = found.length === 1 ? 'once, for' : `${found.length} times, the longest for`;
  const ends = found.map(({ end }) => end);
  const apart = ends.slice(1).map((end, index) => end - (ends[index] as number));
  const period = apart.length > 1 && Math.max(...apart) < 1.2 * Math.min(...apart);
  const every = period ? `, every ${decimals(Math.min(...apart), 1)} s` : '';
  const most = Math.max(...found.map(({ broadcasts }) => broadcasts));
  return {
    message: `the server stood still ${times} at least ${decimals(longest, 1)} s${every}: copies of up to ${most} consecutive broadcasts arrived together`,
    window: 'broadcasts',
    values: [
      ...standstill(longest),
      ...valuesOf({ standstills: found.length, 'broadcasts that arrived together': most }),
      ...valuesOf({ 'time between standstills': period ? Math.min(...apart) : undefined }, 's'),
    ],
    fix: 'find what blocks its event loop for so long: a loop, synchronous I/O or a large `JSON.parse`; a CPU profile shows it',
  };
}

/** @returns groups of two or more consecutive broadcasts whose first copies came at one moment, and to everybody then */
function stallsAmong(batches: Batch[]): Stall[] {
  const all: Stall[] = [];
  let open: Stall | undefined;
  let before: number | undefined;
  for (const { t, firstMs, lastMs, broadcasts } of batches) {
    const isKnown = t !== null && firstMs !== null && lastMs !== null && broadcasts === 1;
    const apart = isKnown && before !== undefined ? t - before : 0;
    const isTogether =
      isKnown && open && apart > 0 && Math.abs(t + firstMs / 1000 - open.end) <= MAX_SPREAD_SHARE * apart;
    // All that wait for the same moment get their copies within it.
    const isShort = isKnown && lastMs - firstMs <= MAX_SPREAD_SHARE * firstMs;
    if (isTogether && open) Object.assign(open, { broadcasts: open.broadcasts + 1, apart });
    else {
      open =
        isKnown && isShort ? { end: t + firstMs / 1000, lengthMs: firstMs, broadcasts: 1, apart: Infinity } : undefined;
      if (open) all.push(open);
    }
    before = t ?? undefined;
  }
  return all.filter(
    ({ broadcasts, lengthMs, apart }) => broadcasts > 1 && broadcasts >= (MIN_SHARE * lengthMs) / 1000 / apart,
  );
}
