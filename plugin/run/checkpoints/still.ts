/**
 * Whether the run's own counts stand still. A count of the server or of the kernel is compared with a count of the run only if
 * the run's stood still before and after it was read: while connections come, two counts of different moments always differ.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { RunContext } from '../context.ts';

type Counting = Pick<RunContext, 'link' | 'population' | 'probe' | 'sentinel' | 'publishers'>;

/** Longer than the intervals together at which fleet processes and engines report their counts. */
export const STATUS_AGE_MS = 1000;

/** @returns all counts that change when a connection begins or ends, as text */
export function ownCounts(context: Counting): string {
  const { started, connecting, connected, upgrading, away, failed, ended } = context.link.status;
  const counts = [started, connecting, connected, upgrading, away, failed, totalOf(ended)];
  return JSON.stringify([...counts, context.population.connections(), ownConnections(context)]);
}

/** Waits until the run would know of a change. @param before `ownCounts` from before the other count was read */
export async function stoodStill(context: Counting & Pick<RunContext, 'signal'>, before: string): Promise<boolean> {
  await delay(STATUS_AGE_MS, undefined, { signal: context.signal }).catch(() => {});
  return !context.signal.aborted && ownCounts(context) === before;
}

/**
 * Connections of the run itself that workers count: the probe's, the sentinel's and the publishers'. Control connections are not
 * among those that workers count.
 */
export function ownConnections({ probe, sentinel, publishers }: Omit<Counting, 'link' | 'population'>): number {
  return [probe, sentinel].filter((one) => one?.connected).length + (publishers?.connected ?? 0);
}

export function totalOf(counts: Record<string, number>): number {
  return Object.values(counts).reduce((total, count) => total + count, 0);
}
