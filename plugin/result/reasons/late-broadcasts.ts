/** Broadcasts that did not leave as planned: several at a time are another load than one after the other. */
import type { Reason } from '../../../protocol/codes/verdict-reasons.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { isDuring } from '../../run/fault/measure.ts';
import type { Measurements } from '../../run/measurements/measurements.ts';
import { sum } from '../sums.ts';

/** As for messages and event loops: below, the figures hardly change. */
const MIN_LATE_MS = 50;
/** Of the interval: later, a broadcast is nearer to the next one than to its own time. */
const MIN_LATE_SHARE = 0.5;
/** Of the broadcasts: a worker that stands still for a moment is late with some, and their latency says so. */
const MAX_SHARE = 0.1;

/** @param result its `sendDelayMs` is null if only the server knows when a broadcast was to leave */
export function* lateBroadcasts(
  { sent, fault, ownEvent }: Pick<Measurements, 'sent' | 'fault' | 'ownEvent'>,
  { latency: { sendDelayMs } }: Omit<Result, 'verdict'>,
): Generator<Reason> {
  const all = howMany(sent);
  if (!sendDelayMs || all < 2) return;
  const intervalMs = spanUs(sent.map(({ intendedAtUs }) => intendedAtUs)) / 1000 / (all - 1);
  const limitMs = Math.max(MIN_LATE_MS, intervalMs * MIN_LATE_SHARE);
  const late = sent.filter((one) => delayMs(one) > limitMs && !isDuring(fault, one.intendedAtUs));
  if (howMany(late) <= Math.max(1, all * MAX_SHARE)) return;
  const worstMs = late.reduce((most, one) => Math.max(most, delayMs(one)), 0);
  yield {
    code: 'BROADCASTS_LATE',
    message: `${howMany(late)} of ${all} broadcasts left more than ${limitMs.toFixed(0)} ms later than planned, up to ${worstMs.toFixed(0)} ms, where one was planned every ${Number(intervalMs.toPrecision(3))} ms: they left in bursts`,
    fix: `raise ${ownEvent ? 'delivery.publish.every' : 'broadcasts.interval'}, or give workers and generator more CPU; latencies count from the planned times`,
  };
}

function delayMs({ sentAtUs, intendedAtUs }: Measurements['sent'][number]): number {
  return (sentAtUs - intendedAtUs) / 1000;
}

/** In a long run, one stands for several. */
function howMany(sent: Measurements['sent']): number {
  return sum(sent.map(({ broadcasts = 1 }) => broadcasts));
}

function spanUs(timesUs: number[]): number {
  const [first = 0, ...others] = timesUs;
  const [low, high] = others.reduce(([low, high], us) => [Math.min(low, us), Math.max(high, us)], [first, first]);
  return high - low;
}
