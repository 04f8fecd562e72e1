/** One stall of the generator: the p99 of its event loops' delay does not show it, and the measured times can be full of it. */
import type { Summary } from '../../../protocol/result/parts.ts';
import type { Result } from '../../../protocol/result/result.ts';
import type { Detail, Measured } from './check.ts';

type Loop = Result['generator'][number];

/** As for the p99 of the delay: less is noise on a busy machine. */
const MIN_MS = 50;
/** Share of a figure: if the stall explains that much, the figure may be the generator’s own. */
const MIN_SHARE = 0.5;

/**
 * What is to be above the median: a stall makes some values longer, and not all of them. For broadcasts, the times of their last
 * receivers: those of one broadcast's receivers differ without any stall.
 */
const TIMES: Record<Loop['window'], { what: string; of: (result: Measured) => Summary | null | undefined }> = {
  ramp: { what: 'connect time', of: ({ connections }) => connections.connectMs },
  messages: { what: 'time to an acknowledgement', of: ({ messages }) => messages?.ackMs },
  broadcasts: { what: 'time to the last receiver', of: ({ latency }) => latency.completionMs },
};

/** @returns the longest stall of a fleet process in the window, if it can be a figure of it */
export function stallIn(result: Measured, window: Loop['window']): Detail | undefined {
  const { what, of } = TIMES[window];
  const times = of(result);
  // Only the fleet receives, and takes the times.
  const [loop] = result.generator
    .filter((one) => one.window === window && one.part === 'fleet')
    .toSorted((a, b) => b.delayMaxMs - a.delayMaxMs);
  if (!loop || !times) return undefined;
  // A single one is all there is.
  const usualMs = times.count > 1 ? times.p50 : 0;
  const figure = quoted(times).find(({ ms }) => isOfStall(ms, usualMs, loop.delayMaxMs));
  if (!figure) return undefined;
  const where = loop.host === undefined ? '' : ` on ${loop.host}`;
  return {
    message: `fleet ${loop.index}${where} stood still for ${loop.delayMaxMs.toFixed(0)} ms during the ${window}, which can explain the ${what} of ${figure.ms.toFixed(0)} ms (${figure.name}; median ${times.p50.toFixed(0)} ms)`,
    fix: 'measure again; find what stopped the generator: another process on its cores, or a pause of its container or virtual machine',
  };
}

/** The highest percentile that there is, and the maximum. */
function quoted({ p90, p95, p99, max }: Summary): { name: string; ms: number }[] {
  const percentiles = Object.entries({ p99, p95, p90 }).flatMap(([name, ms]) => (ms === null ? [] : [{ name, ms }]));
  return [...percentiles.slice(0, 1), { name: 'max', ms: max }];
}

function isOfStall(ms: number, usualMs: number, stallMs: number): boolean {
  return stallMs > MIN_MS && ms - usualMs > MIN_MS && stallMs >= ms * MIN_SHARE;
}
