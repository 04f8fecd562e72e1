/** Quotas of CPU time that stopped a container: the cause of what is late, or slow, in it. */

import type { Result } from '../../../protocol/result/result.ts';
import { decimals, integer } from '../../../report/text/format.ts';
import type { Check } from './check.ts';

type Windows = NonNullable<Result['machine']>['throttled'];
type Window = keyof NonNullable<Windows>;

/** Share of its periods. A group that stops in one of twenty waits up to 100 ms each time, which is its p99. */
const MAX_THROTTLED_SHARE = 0.05;

export const throttling: Check[] = [
  {
    code: 'GENERATOR_THROTTLED',
    find({ machine }) {
      const message = worst(machine?.throttled ?? null);
      return message === undefined ? undefined : { message };
    },
  },
  {
    code: 'WORKERS_THROTTLED',
    find: ({ workers }) =>
      workers.flatMap(({ worker, throttled }) => {
        const found = worst(throttled);
        return found === undefined ? [] : { message: `${worker}: ${found}` };
      }),
  },
];

/** @returns whether the generator's container was stopped in the window more often than can be neglected */
export function isThrottled({ machine }: Pick<Result, 'machine'>, window: Window): boolean {
  return shareIn(machine?.throttled ?? null, window) > MAX_THROTTLED_SHARE;
}

/** @returns `743 of 1,969 periods throttled during the ramp: its container may use 0.12 cores`; undefined if that is rare */
function worst(windows: Windows): string | undefined {
  const [window] = (['ramp', 'messages', 'broadcasts'] as const).toSorted(
    (a, b) => shareIn(windows, b) - shareIn(windows, a),
  );
  const throttled = window && windows?.[window];
  if (!throttled || shareIn(windows, window) <= MAX_THROTTLED_SHARE) return undefined;
  const { cores, periods, throttledPeriods, throttledMs } = throttled;
  const stopped = `${integer(throttledPeriods)} of ${integer(periods)} periods throttled during the ${window}`;
  return `${stopped}, for ${decimals(throttledMs / 1000, 1)} s in all: this container may use ${coresOf(cores)}`;
}

function shareIn(windows: Windows, window: Window): number {
  const { periods = 0, throttledPeriods = 0 } = windows?.[window] ?? {};
  return periods === 0 ? 0 : throttledPeriods / periods;
}

function coresOf(cores: number): string {
  return `${decimals(cores, 2)} core${cores === 1 ? '' : 's'}`;
}
