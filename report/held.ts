/** How many connections a run held. */
import type { Result } from '../protocol/result.ts';

/** @returns those alive through the broadcasts; the peak where nobody was to stay, or nobody counts */
export function heldOf({ held, peak }: Result['connections']): number {
  return held ?? peak;
}

/** @returns whether some of those that should have been there got nothing because they were gone */
export function missesSome(delivery: NonNullable<Result['delivery']>): boolean {
  const { coverage, coverageOfTarget } = delivery;
  return coverage !== null && coverageOfTarget !== null && coverageOfTarget < coverage;
}
