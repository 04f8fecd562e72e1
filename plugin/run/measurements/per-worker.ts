/** Counts the connections of each worker. */
import { sumCounts } from '../../../protocol/base/sum-counts.ts';
import type { FleetTotals } from '../../../protocol/link/add-up.ts';
import type { Measurements } from './measurements.ts';

/**
 * Returns the number of connections of each worker. Empty if sessions were recovered: recovered connections do not join
 * again, so their worker is unknown.
 */
export function connectionsPerWorker(
  { workersAtStart }: Pick<Measurements, 'workersAtStart'>,
  { perWorker, perSessionPrefix, connected, returns }: FleetTotals,
): Record<string, number> {
  // Session ids of other Socket.IO servers may begin with any text, not only with a worker's name.
  const isWorker = ([name]: [string, number]) => workersAtStart.some(({ worker }) => worker === name);
  const named = sumCounts([perWorker, Object.fromEntries(Object.entries(perSessionPrefix).filter(isWorker))]);
  const known = Object.values(named).reduce((total, count) => total + count, 0);
  if (returns.recovered === 0 || known >= connected) return named;
  const [only, ...others] = workersAtStart;
  const isOnly = only !== undefined && others.length === 0 && Object.keys(named).every((name) => name === only.worker);
  return isOnly ? { [only.worker]: connected } : {};
}
