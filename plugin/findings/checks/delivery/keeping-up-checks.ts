/** Checks whether the deployment processed messages as fast as they were sent. If not, its queue grows all the time. */

import { findingValues } from '../../../../protocol/result/findings.ts';
import type { Result } from '../../../../protocol/result/result.ts';
import { LEAST_BROADCASTS, LEAST_WINDOW_SECONDS } from '../../../../report/figures/least-window.ts';
import { withUnit } from '../../../../report/model/amount.ts';
import { median } from '../../../../report/statistics/statistics.ts';
import { defineCheckUnless, type FindingCheck, type FindingDetail, type RunFigures } from '../../check.ts';
import { mayLackCpu } from '../server/saturation-checks.ts';

/** Delay of broadcasts or acknowledgements at one time of the measured window; `at` is the time in seconds. */
interface Point {
  at: number;
  /** Delay in seconds. A constant offset does no harm, because only changes of the delay matter. */
  late: number;
}

const PARTS = 4;
/** Minimum share of `LEAST_WINDOW_SECONDS` that the measured window must cover, because timers are not exact. */
const MIN_WINDOW_SHARE = 0.9;
/** Minimum growth of the delay as a share of the elapsed time. Slower growth is noise. */
const SLOWER = 0.02;
/** Minimum growth of the delay in seconds. A single pause changes the median delay in a part of the window by less. */
const LEAST_GROWTH_SECONDS = 0.1;
/** Stricter requirements for a short measured window: more growth, in steps of similar size. */
const SHORT = { seconds: 2, growthSeconds: 0.5, stepShare: 0.5 };
const GROWTH = 'growth of the delay';

/** Suggested fix for a deployment that cannot keep up although CPU is free. */
const WAITS_FIX =
  'send less, or find what the handlers wait for, such as a lock, a queue, a timer or a database: they did not use up the CPU';

export const keepingUpChecks: FindingCheck[] = [
  defineCheckUnless('abort', 'QUEUE_GROWS', (result) => {
    if (result.fault) return undefined;
    return [
      ...growth(copiesOf(result), 'broadcasts', 'copies fell behind', 'the last receivers were'),
      ...growth(acknowledgementsOf(result), 'messages', 'acknowledgements fell behind', 'they were'),
    ].map((detail) => (mayLackCpu(result, detail.window) ? detail : { ...detail, fix: WAITS_FIX }));
  }),
];

/** Returns how much the delay grew, in seconds, from the values of a finding `QUEUE_GROWS`. */
export function queueGrowthSeconds({ values = [] }: Pick<FindingDetail, 'values'>): number {
  return Math.max(0, ...values.filter(({ name }) => name === GROWTH).map(({ value }) => value));
}

/**
 * Returns the delay of broadcasts over time. Broadcasts that the run's own clients publish are due at the configured
 * interval.
 */
function copiesOf({ delivery, environment }: RunFigures): Point[] {
  const { delivery: own } = environment.settings as { delivery?: { publish?: { every?: number } } };
  const every = own?.publish?.every;
  return (delivery?.batches ?? []).flatMap(({ seq, t, dueToLastMs, lastMs }): Point[] => {
    const ms = dueToLastMs ?? lastMs;
    if (t === null || ms === null) return [];
    const at = every === undefined ? t : seq * every;
    return [{ at, late: t - at + ms / 1000 }];
  });
}

/**
 * Returns the delay of acknowledgements over time: the number of queued messages, divided by the send rate. Messages
 * that are never acknowledged are not queued.
 */
function acknowledgementsOf({ messages }: Pick<Result, 'messages'>): Point[] {
  const { window } = messages ?? {};
  return (window?.queued ?? []).map((waiting, index, { length }) => ({
    at: ((window?.seconds ?? 0) * index) / (length - 1),
    late: waiting / (window?.sentPerSec || Number.POSITIVE_INFINITY),
  }));
}

function growth(points: Point[], window: string, what: string, who: string): (FindingDetail & { window: string })[] {
  const times = points.map(({ at }) => at);
  const span = ((Math.max(...times) - Math.min(...times)) * points.length) / (points.length - 1);
  if (points.length < LEAST_BROADCASTS || span < SHORT.seconds * MIN_WINDOW_SHARE) return [];
  const parts = Array.from({ length: PARTS }, (_, part) =>
    points.slice((part * points.length) / PARTS, ((part + 1) * points.length) / PARTS),
  );
  const middle = (key: keyof Point) => parts.map((part) => median(part.map((point) => point[key])) as number);
  const [late, at] = [middle('late'), middle('at')];
  // On a shared machine, a deployment may catch up for a while, so the first and the second half of the window are
  // compared as a whole.
  const grows = Math.min(...late.slice(PARTS / 2)) > Math.max(...late.slice(0, PARTS / 2));
  const [seconds, value] = [at, late].map((one) => (one.at(-1) as number) - (one[0] as number)) as [number, number];
  const isShort = span < LEAST_WINDOW_SECONDS * MIN_WINDOW_SHARE;
  const steps = late.slice(1).map((one, index) => one - (late[index] as number));
  const isEven = Math.min(...steps) >= (SHORT.stepShare * value) / steps.length;
  const least = Math.max(isShort ? SHORT.growthSeconds : LEAST_GROWTH_SECONDS, SLOWER * seconds);
  if (!grows || value < least || (isShort && !isEven)) return [];
  return [
    {
      window,
      values: findingValues({ [GROWTH]: value, 'length of the growth': seconds }, 's'),
      message: `${what}: within ${withUnit('seconds', seconds)}, ${who} ${withUnit('seconds', value)} later`,
    },
  ];
}
