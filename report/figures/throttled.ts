/** Time for which a CPU quota stopped a container. */
import type { Result } from '../../protocol/result/result.ts';

export type Throttled = NonNullable<Result['machine']>['throttled'];

type Window = keyof NonNullable<Throttled>;

/** Share of the periods. A group that is stopped in one of twenty waits up to 100 ms each time, which is its p99. */
const MAX_SHARE = 0.05;

export function throttledShare(windows: Throttled, window: Window): number {
  const { periods = 0, throttledPeriods = 0 } = windows?.[window] ?? {};
  return periods === 0 ? 0 : throttledPeriods / periods;
}

/** Returns whether the throttling matters. */
export function isThrottled(windows: Throttled | undefined, window: Window): boolean {
  return throttledShare(windows ?? null, window) > MAX_SHARE;
}
