/**
 * Checks whether the number of connections is changing. A count from the server or the kernel is comparable only if the
 * run's own counts are the same before and after it.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { RunContext } from '../context.ts';

type Counting = Pick<RunContext, 'link' | 'population' | 'probe' | 'sentinel' | 'publishers'>;

/**
 * Time after which fleet processes and engines have reported every change. It is longer than both report intervals
 * together.
 */
export const STATUS_AGE_MS = 1000;

/** Returns all counts that change when a connection opens or closes, as one string for comparison. */
export function runCounts(context: Counting): string {
  const { started, connecting, connected, upgrading, away, failed, ended } = context.link.status;
  const counts = [started, connecting, connected, upgrading, away, failed, totalCount(ended)];
  return JSON.stringify([...counts, context.population.connections(), countOwnConnections(context)]);
}

/**
 * Waits until fleet processes and engines have reported every change.
 * @param before result of `runCounts` before the server's or the kernel's count was read
 * @returns whether the run's own counts are still the same
 */
export async function areCountsUnchanged(
  context: Counting & Pick<RunContext, 'signal'>,
  before: string,
): Promise<boolean> {
  await delay(STATUS_AGE_MS, undefined, { signal: context.signal }).catch(() => {});
  return !context.signal.aborted && runCounts(context) === before;
}

/**
 * Returns the number of open connections of the probe, the reference receiver and the publishers. Workers count these
 * connections, but not control connections.
 */
export function countOwnConnections({ probe, sentinel, publishers }: Omit<Counting, 'link' | 'population'>): number {
  return [probe, sentinel].filter((client) => client?.connected).length + (publishers?.connected ?? 0);
}

export function totalCount(counts: Record<string, number>): number {
  return Object.values(counts).reduce((total, count) => total + count, 0);
}
