/** Quotas of CPU time that stopped a container: the cause of what is late, or slow, in it. */
import { isThrottled, type Throttled, throttledShare } from '../../../report/figures/throttled.ts';
import { decimals, integer } from '../../../report/text/format.ts';
import type { Check } from './check.ts';

export const throttling: Check[] = [
  {
    code: 'MACHINE_SATURATED',
    find({ machine }) {
      const message = worst(machine?.throttled ?? null);
      return message === undefined
        ? undefined
        : { message, fix: 'raise the CPU limit of the container, or lower the load' };
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

/** @returns `743 of 1,969 periods throttled during the ramp: its container may use 0.12 cores`; undefined if that is rare */
function worst(windows: Throttled): string | undefined {
  const [window] = (['ramp', 'messages', 'broadcasts'] as const).toSorted(
    (a, b) => throttledShare(windows, b) - throttledShare(windows, a),
  );
  const throttled = window && windows?.[window];
  if (!throttled || !isThrottled(windows, window)) return undefined;
  const { cores, periods, throttledPeriods, throttledMs } = throttled;
  const stopped = `${integer(throttledPeriods)} of ${integer(periods)} periods throttled during the ${window}`;
  return `${stopped}, for ${decimals(throttledMs / 1000, 1)} s in all: this container may use ${coresOf(cores)}`;
}

function coresOf(cores: number): string {
  return `${decimals(cores, 2)} core${cores === 1 ? '' : 's'}`;
}
