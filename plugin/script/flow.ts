/** What both the engine and the hook read from a scenario's flow. */
import { durationMs } from './duration.ts';

/** How long a virtual user is taken to be busy with steps other than `think`. */
const STEPS_SECONDS = 10;

/** At which a virtual user opens its many connections, unless its `connect` says otherwise. */
export const DEFAULT_RATE_PER_SEC = 500;

/** The connections that one virtual user holds. */
export interface Crowd {
  count: number;
  /** Infinite where there is but one. */
  ratePerSec: number;
}

/** @returns of the largest `connect` of the flow */
export function crowdOf(flow: unknown[]): Crowd {
  return largestCrowd(
    flow.flat().map((step) => {
      const { connect, loop } = (step ?? {}) as { connect?: { count?: unknown; ratePerSec?: unknown }; loop?: unknown };
      if (Array.isArray(loop)) return crowdOf(loop);
      return { count: Number(connect?.count ?? 1), ratePerSec: Number(connect?.ratePerSec ?? DEFAULT_RATE_PER_SEC) };
    }),
  );
}

export function largestCrowd(crowds: Crowd[]): Crowd {
  const one = { count: 1, ratePerSec: Number.POSITIVE_INFINITY };
  return crowds.reduce((largest, crowd) => (crowd.count > largest.count ? crowd : largest), one);
}

/**
 * @returns seconds that a virtual user of this flow may keep its connections, an upper estimate; infinite where it
 *   holds, waits, or thinks for a time that is not in the script
 */
export function staySeconds(flow: unknown[]): number {
  return thinkSeconds(flow) + STEPS_SECONDS;
}

function thinkSeconds(steps: unknown[]): number {
  return steps.reduce<number>((total, step) => total + stepSeconds(step), 0);
}

function stepSeconds(step: unknown): number {
  if (Array.isArray(step)) return thinkSeconds(step);
  const { think, hold, waitFor, loop, count } = (step ?? {}) as Record<string, unknown>;
  if (hold !== undefined || waitFor !== undefined) return Number.POSITIVE_INFINITY;
  if (think !== undefined) return (durationMs(think) ?? Number.POSITIVE_INFINITY) / 1000;
  if (!Array.isArray(loop)) return 0;
  if (typeof count !== 'number' || count < 0) return Number.POSITIVE_INFINITY;
  return count === 0 ? 0 : thinkSeconds(loop) * count;
}
