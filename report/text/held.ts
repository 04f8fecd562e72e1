/** How many connections a run held. */
import type { Result } from '../../protocol/result/result.ts';
import { counted } from './format.ts';

/** @returns those alive through the broadcasts; the peak where nobody was to stay, or nobody counts */
export function heldOf({ held, peak }: Result['connections']): number {
  return held ?? peak;
}

/** @returns `1,000 connections held`, or `at most 150 connections at the same time` where users leave, or nobody counts who stays */
export function heldText(connections: Result['connections']): string {
  const text = counted(heldOf(connections), 'connection');
  return connections.held === null ? `at most ${text} at the same time` : `${text} held`;
}

/** @returns from the end of the last ramp until the run released them; null where nobody counts who stays */
export function heldSeconds({ connections: { held }, stages }: Pick<Result, 'connections' | 'stages'>): number | null {
  const full = stages[stages.findLastIndex(({ name }) => name === 'ramp') + 1];
  const released = stages.find(({ name }) => name === 'disconnect');
  return held === null || !full || !released ? null : released.t - full.t;
}

/** @returns whether some of those that should have been there got nothing because they were gone */
export function missesSome(delivery: NonNullable<Result['delivery']>): boolean {
  const { coverage, coverageOfTarget } = delivery;
  return coverage !== null && coverageOfTarget !== null && coverageOfTarget < coverage;
}
