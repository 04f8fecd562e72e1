/** One stall of the generator: the p99 of its event loops' delay does not show it, and the measured times can be full of it. */
import type { Reason } from '../../../protocol/codes/verdict-reasons.ts';
import type { Summary } from '../../../protocol/result/parts.ts';
import type { Result } from '../../../protocol/result/result.ts';

type Loop = Result['generator'][number];

/** As for the p99 of the delay: less is noise on a busy machine. */
const MIN_MS = 50;
/** Of a figure: it can be the generator's own where the stall explains so much of it. */
const MIN_SHARE = 0.5;

/** What is to be above the median: a stall makes some values longer, and not all of them. */
interface Times {
  window: Loop['window'];
  what: string;
  times: Summary | null;
}

/**
 * Of broadcasts, the times of their last receivers: those of one broadcast's receivers differ without any stall.
 * @param explained windows of which another reason says that the generator was late
 */
export function* stallProblems(result: Omit<Result, 'verdict'>, explained: Set<Loop['window']>): Generator<Reason> {
  const { connections, messages, latency } = result;
  const all: Times[] = [
    { window: 'ramp', what: 'connect time', times: connections.connectMs },
    { window: 'messages', what: 'time to an acknowledgement', times: messages?.ackMs ?? null },
    { window: 'broadcasts', what: 'time to the last receiver', times: latency.completionMs },
  ];
  for (const { window, what, times } of all) {
    const loop = longestStall(result, window);
    if (explained.has(window) || !loop || !times) continue;
    // A single one is all there is.
    const usualMs = times.count > 1 ? times.p50 : 0;
    const figure = quoted(times).find(({ ms }) => isOfStall(ms, usualMs, loop.delayMaxMs));
    if (!figure) continue;
    yield {
      code: 'GENERATOR_LAGS',
      message: `fleet ${loop.index}${loop.host === undefined ? '' : ` on ${loop.host}`} stood still for ${loop.delayMaxMs.toFixed(0)} ms during the ${window}, so the ${what} of ${figure.ms.toFixed(0)} ms (${figure.name}; median ${times.p50.toFixed(0)} ms) can be its own`,
      fix: 'measure again; did something stop the generator: another process on its cores, a pause of its container or virtual machine?',
    };
  }
}

/** Only the fleet receives, and takes the times. */
function longestStall({ generator }: Pick<Result, 'generator'>, window: Loop['window']): Loop | undefined {
  return generator
    .filter((loop) => loop.window === window && loop.part === 'fleet')
    .toSorted((a, b) => b.delayMaxMs - a.delayMaxMs)[0];
}

/** The highest percentile that there is, and the maximum. */
function quoted({ p90, p95, p99, max }: Summary): { name: string; ms: number }[] {
  const percentiles = Object.entries({ p99, p95, p90 }).flatMap(([name, ms]) => (ms === null ? [] : [{ name, ms }]));
  return [...percentiles.slice(0, 1), { name: 'max', ms: max }];
}

function isOfStall(ms: number, usualMs: number, stallMs: number): boolean {
  return stallMs > MIN_MS && ms - usualMs > MIN_MS && stallMs >= ms * MIN_SHARE;
}
